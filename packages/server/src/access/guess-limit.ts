import { networkOf } from '../values/address.js';
import { Problem } from '../values/problem.js';
import { type CountExchange, MinuteWindows } from '../web/minute-windows.js';

/** Far below what guessing 32 random bytes takes, and more than a misconfigured client sends. */
export const wrongTokensMax = 1_000;
/** An attacker can have more addresses than fit into memory. */
const addressesMax = 10_000;

/** Limits how many wrong tokens an address can send per minute. An IPv6 /64 network counts as one address. */
export class GuessLimit {
  readonly #isOn: boolean;
  readonly #windows: MinuteWindows;

  constructor(isOn: boolean, now: () => number, exchange?: CountExchange) {
    this.#isOn = isOn;
    this.#windows = new MinuteWindows(addressesMax, now).share('wrong tokens', exchange);
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
    return new Problem(
      'rate_limited',
      `Too many requests with an invalid token came from your address. Try again in ${seconds} seconds.`,
      { headers: { 'Retry-After': String(seconds) } },
    );
  }
}
