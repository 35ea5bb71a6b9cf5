import { Problem } from '../domain/problem.js';

export interface RateLimits {
  reads: number;
  writes: number;
}

const windowMs = 60_000;
const windowsMax = 50_000;

interface Window {
  endsMs: number;
  used: number;
}

/** Counts the requests of each token in windows of one minute that start with the first request. */
export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #now: () => number;
  readonly #windows = new Map<string, Window>();

  constructor(limits: RateLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Counts one request and sets the standard headers. Returns a problem if the limit is exceeded. */
  count(tokenId: string, method: string, header: (name: string, value: string) => void): Problem | undefined {
    const policy = method === 'GET' || method === 'HEAD' ? 'reads' : 'writes';
    const quota = this.#limits[policy];
    if (quota === 0) return undefined;
    const nowMs = this.#now();
    const window = this.#window(`${policy} ${tokenId}`, nowMs);
    window.used += 1;
    const left = Math.max(0, quota - window.used);
    const resetSeconds = Math.max(1, Math.ceil((window.endsMs - nowMs) / 1000));
    header('RateLimit-Policy', `"${policy}";q=${quota};w=${windowMs / 1000}`);
    header('RateLimit', `"${policy}";r=${left};t=${resetSeconds}`);
    if (window.used <= quota) return undefined;
    return new Problem(
      'rate_limited',
      `The token can make ${quota} ${policy} per minute. Try again in ${resetSeconds} seconds. For a steady flow of events, use webhooks instead of polling.`,
      { headers: { 'Retry-After': String(resetSeconds) } },
    );
  }

  #window(key: string, nowMs: number): Window {
    const open = this.#windows.get(key);
    if (open && open.endsMs > nowMs) return open;
    const fresh = { endsMs: nowMs + windowMs, used: 0 };
    this.#windows.delete(key);
    this.#windows.set(key, fresh);
    if (this.#windows.size > windowsMax) this.#dropEnded(nowMs);
    return fresh;
  }

  /** Windows are inserted in the order in which they end, so stop at the first one that is still open. */
  #dropEnded(nowMs: number): void {
    for (const [key, window] of this.#windows) {
      if (window.endsMs > nowMs) return;
      this.#windows.delete(key);
    }
  }
}
