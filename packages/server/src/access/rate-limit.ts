import { Problem } from '../values/problem.js';
import { type CountExchange, MinuteWindows } from '../web/minute-windows.js';

export interface RateLimits {
  reads: number;
  writes: number;
}

/** Limits memory use: beyond this many counts (two per token, for reads and writes), the oldest is forgotten. */
const countsMax = 50_000;

/** Counts the requests of each token in windows of one minute that start with the first request. */
export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #windows: MinuteWindows;

  constructor(limits: RateLimits, now: () => number, exchange?: CountExchange) {
    this.#limits = limits;
    this.#windows = new MinuteWindows(countsMax, now).share('requests', exchange);
  }

  /** Counts one request and sets the standard headers. Returns a problem if the limit is exceeded. */
  count(tokenId: string, method: string, header: (name: string, value: string) => void): Problem | undefined {
    const policy = method === 'GET' || method === 'HEAD' ? 'reads' : 'writes';
    const quota = this.#limits[policy];
    if (quota === 0) return undefined;
    const window = this.#windows.count(`${policy} ${tokenId}`);
    const left = Math.max(0, quota - window.count);
    const resetSeconds = this.#windows.secondsLeft(window);
    header('RateLimit-Policy', `"${policy}";q=${quota};w=60`);
    header('RateLimit', `"${policy}";r=${left};t=${resetSeconds}`);
    if (window.count <= quota) return undefined;
    return new Problem(
      'rate_limited',
      `The token can make ${quota} ${policy} per minute. Try again in ${resetSeconds} seconds. For a steady flow of events, use webhooks instead of polling.`,
      { headers: { 'Retry-After': String(resetSeconds) } },
    );
  }
}
