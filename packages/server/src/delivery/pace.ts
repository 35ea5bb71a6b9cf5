import { limits } from './limits.js';

/** How fast one webhook is sent to on this node, if it has a rate limit. The limit is known before a request starts. */
export class Pace {
  #limit: number | undefined;
  /** When the next request may begin. */
  #freeAtMs = Number.NEGATIVE_INFINITY;

  /** Requests per second, if there is a limit. */
  get limit(): number | undefined {
    return this.#limit;
  }

  /** Notes the limit of the webhook as it is now. The request that it was read for counts. */
  set(limit: number | undefined, nowMs: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.#freeAtMs = limit === undefined ? nowMs : nowMs + 1_000 / limit;
  }

  /** Notes that a request begins. */
  begin(nowMs: number): void {
    if (this.#limit === undefined) return;
    // Whoever comes a little late, as timers do, makes up for it. A webhook that was idle starts from now.
    const isLate = nowMs - this.#freeAtMs <= limits.paceSlackMs;
    this.#freeAtMs = (isLate ? this.#freeAtMs : nowMs) + 1_000 / this.#limit;
  }

  /** Returns how long the next request has to wait; 0 if it may begin. */
  waitMs(nowMs: number): number {
    return this.#limit === undefined ? 0 : Math.max(0, this.#freeAtMs - nowMs);
  }
}
