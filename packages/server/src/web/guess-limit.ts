import { networkOf } from '../domain/address.js';
import { Problem } from '../domain/problem.js';

const windowMs = 60_000;
/** Far below what guessing 32 random bytes takes, and more than a misconfigured client sends. */
export const wrongTokensMax = 1_000;
/** Beyond this, the oldest windows are forgotten: an attacker can have more addresses than we have memory. */
const windowsMax = 10_000;

interface Window {
  endsMs: number;
  wrong: number;
}

/** Limits how many wrong tokens an address can send per minute. An IPv6 network of 64 bits counts as one address. */
export class GuessLimit {
  readonly #isOn: boolean;
  readonly #now: () => number;
  readonly #windows = new Map<string, Window>();

  constructor(isOn: boolean, now: () => number) {
    this.#isOn = isOn;
    this.#now = now;
  }

  /** Counts a wrong token. Returns a problem if the address has sent too many. */
  count(address: string): Problem | undefined {
    if (!this.#isOn) return undefined;
    this.#window(networkOf(address)).wrong += 1;
    return this.refusal(address);
  }

  /** Returns a problem if the address has sent too many wrong tokens. */
  refusal(address: string): Problem | undefined {
    const window = this.#windows.get(networkOf(address));
    const leftMs = (window?.endsMs ?? 0) - this.#now();
    if (!window || leftMs <= 0 || window.wrong <= wrongTokensMax) return undefined;
    const seconds = Math.ceil(leftMs / 1000);
    return new Problem(
      'rate_limited',
      `Too many requests with a wrong token came from your address. Try again in ${seconds} seconds.`,
      { headers: { 'Retry-After': String(seconds) } },
    );
  }

  #window(network: string): Window {
    const nowMs = this.#now();
    const open = this.#windows.get(network);
    if (open && open.endsMs > nowMs) return open;
    const fresh = { endsMs: nowMs + windowMs, wrong: 0 };
    this.#windows.delete(network);
    this.#windows.set(network, fresh);
    if (this.#windows.size > windowsMax) {
      const [oldest = ''] = this.#windows.keys();
      this.#windows.delete(oldest);
    }
    return fresh;
  }
}
