import { limits } from './limits.js';

/**
 * Limits how fast this node sends to a webhook with a rate limit. The limit becomes known with the first attempt.
 * Requests that started before count, too, so the next request may have to wait longer.
 */
export class Pace {
  #limit: number | undefined;
  /** When the next request may start. */
  #freeAtMs = Number.NEGATIVE_INFINITY;
  /** While no limit is known: the requests since this time, at most a second ago. */
  #sinceMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** Requests per second, if there is a limit. */
  get limit(): number | undefined {
    return this.#limit;
  }

  /** Sets the current limit of the webhook. */
  set(limit: number | undefined, nowMs: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    const isRecent = nowMs - this.#sinceMs < 1_000;
    this.#freeAtMs = limit !== undefined && isRecent ? this.#sinceMs + (this.#count * 1_000) / limit : nowMs;
    this.#sinceMs = Number.NEGATIVE_INFINITY;
  }

  /** Notes that a request starts. */
  begin(nowMs: number): void {
    if (this.#limit !== undefined) {
      // Make up for requests that start slightly late, as timers do.
      this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - limits.paceSlackMs) + 1_000 / this.#limit;
      return;
    }
    if (nowMs - this.#sinceMs >= 1_000) [this.#sinceMs, this.#count] = [nowMs, 0];
    this.#count += 1;
  }

  /** Returns how long the next request has to wait, or 0 if it may start now. */
  waitMs(nowMs: number): number {
    return this.#limit === undefined ? 0 : Math.max(0, this.#freeAtMs - nowMs);
  }
}
