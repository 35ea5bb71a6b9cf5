import { limits } from './limits.js';

/**
 * How fast one webhook is sent to on this node, if it has a rate limit. The limit is known from the first attempt on;
 * what began before counts, so a webhook that was sent too much at first is left alone for longer.
 */
export class Pace {
  #limit: number | undefined;
  /** When the next request may begin. */
  #freeAtMs = Number.NEGATIVE_INFINITY;
  /** Requests since then, while there is no limit: at most a second of them. */
  #sinceMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** Requests per second, if there is a limit. */
  get limit(): number | undefined {
    return this.#limit;
  }

  /** Notes the limit of the webhook as it is now. */
  set(limit: number | undefined, nowMs: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    const isRecent = nowMs - this.#sinceMs < 1_000;
    this.#freeAtMs = limit !== undefined && isRecent ? this.#sinceMs + (this.#count * 1_000) / limit : nowMs;
    this.#sinceMs = Number.NEGATIVE_INFINITY;
  }

  /** Notes that a request begins. */
  begin(nowMs: number): void {
    if (this.#limit !== undefined) {
      // Whoever comes a little late, as timers do, makes up for it.
      this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - limits.paceSlackMs) + 1_000 / this.#limit;
      return;
    }
    if (nowMs - this.#sinceMs >= 1_000) [this.#sinceMs, this.#count] = [nowMs, 0];
    this.#count += 1;
  }

  /** Returns how long the next request has to wait; 0 if it may begin. */
  waitMs(nowMs: number): number {
    return this.#limit === undefined ? 0 : Math.max(0, this.#freeAtMs - nowMs);
  }
}
