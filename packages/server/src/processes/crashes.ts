/** A process that lived this long started properly, so something other than its start ended it. */
const steadyMs = 10_000;
const firstWaitMs = 100;
/** After this many short lives in a row, starting again does not help. */
export const shortLivesMax = 5;

/** What to do about a process that ended without being told to. */
export type Remedy = { kind: 'start again'; waitMs: number; shortLives: number } | { kind: 'give up' };

/** Decides what to do, given how many short lives in a row came before and how long this one lasted. */
export function remedyFor(shortLivesBefore: number, livedMs: number): Remedy {
  if (livedMs >= steadyMs) return { kind: 'start again', waitMs: firstWaitMs, shortLives: 0 };
  const shortLives = shortLivesBefore + 1;
  if (shortLives >= shortLivesMax) return { kind: 'give up' };
  return {
    kind: 'start again',
    waitMs: firstWaitMs * 2 ** (shortLives - 1),
    shortLives,
  };
}
