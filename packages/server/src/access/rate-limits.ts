import { networkOf } from '../values/address.js';
import { type Problem, rateLimited } from '../values/problem.js';
import { durationText } from '../values/time.js';

export interface RateLimits {
  reads: number;
  writes: number;
}

/** Limits memory use: beyond this many counts (two per token, for reads and writes), the oldest is forgotten. */
const countsMax = 50_000;
/** Far below what guessing 32 random bytes takes, and more than a misconfigured client sends. */
export const wrongTokensMax = 1_000;
/** An attacker can have more addresses than fit into memory. */
const addressesMax = 10_000;

const windowMs = 60_000;

interface MinuteWindow {
  endsMs: number;
  count: number;
}

/** Counts by key in windows of one minute that start with the first count. Beyond `max` keys, forgets the oldest. */
class MinuteWindows {
  readonly #max: number;
  readonly #now: () => number;
  readonly #windows = new Map<string, MinuteWindow>();

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  /** Returns the window of a key with one more count. */
  count(key: string): MinuteWindow {
    const window = this.get(key) ?? this.#open(key);
    window.count += 1;
    return window;
  }

  /** Returns the window of a key. Undefined if there is none, if it has ended, or if the clock was set back since. */
  get(key: string): MinuteWindow | undefined {
    const window = this.#windows.get(key);
    const leftMs = window ? window.endsMs - this.#now() : 0;
    return leftMs > 0 && leftMs <= windowMs ? window : undefined;
  }

  /** Returns the seconds until a window ends, at least one. */
  secondsLeft({ endsMs }: MinuteWindow): number {
    return Math.max(1, Math.ceil((endsMs - this.#now()) / 1000));
  }

  #open(key: string): MinuteWindow {
    const window = { endsMs: this.#now() + windowMs, count: 0 };
    // Delete it first, so that windows stay in the order in which they were opened.
    this.#windows.delete(key);
    this.#windows.set(key, window);
    if (this.#windows.size > this.#max) {
      const [oldest = ''] = this.#windows.keys();
      this.#windows.delete(oldest);
    }
    return window;
  }
}

/** Counts the requests of each token in windows of one minute that start with the first request. */
export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #windows: MinuteWindows;

  constructor(limits: RateLimits, now: () => number) {
    this.#limits = limits;
    this.#windows = new MinuteWindows(countsMax, now);
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
    return rateLimited(
      `The token can make ${quota} ${policy} per minute. Try again in ${durationText(resetSeconds * 1_000)}. For a steady flow of events, use webhooks instead of polling.`,
      resetSeconds,
    );
  }
}

/** Limits how many wrong tokens an address can send per minute. An IPv6 /64 network counts as one address. */
export class GuessLimit {
  readonly #isOn: boolean;
  readonly #windows: MinuteWindows;

  constructor(isOn: boolean, now: () => number) {
    this.#isOn = isOn;
    this.#windows = new MinuteWindows(addressesMax, now);
  }

  /** Counts a wrong token. Returns a problem if the address has sent too many. */
  count(address: string): Problem | undefined {
    if (!this.#isOn) return undefined;
    this.#windows.count(networkOf(address));
    return this.refusal(address);
  }

  /** Returns a problem if the address has sent too many wrong tokens. */
  refusal(address: string): Problem | undefined {
    const window = this.#windows.get(networkOf(address));
    if (!window || window.count <= wrongTokensMax) return undefined;
    const seconds = this.#windows.secondsLeft(window);
    return rateLimited(
      `Too many requests with an invalid token came from your address. Try again in ${durationText(seconds * 1_000)}.`,
      seconds,
    );
  }
}
