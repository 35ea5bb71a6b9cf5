/** Three lanes, and at most one request per lane every 600 ms: half of the 600 per minute that a token has by default. */
const lanes: Promise<unknown>[] = Array.from({ length: 3 }, () => Promise.resolve());
const everyMs = 600;
let turns = 0;

/** Looks up one row when its turn comes, so that many rows do not use up the token's rate limit. */
export function lookUp<T>(load: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const lane = turns++ % lanes.length;
  const pause = () => signal.aborted || new Promise((resolve) => setTimeout(resolve, everyMs));
  const loaded = (lanes[lane] ?? Promise.resolve()).then(load);
  lanes[lane] = loaded.then(pause, pause);
  return loaded;
}
