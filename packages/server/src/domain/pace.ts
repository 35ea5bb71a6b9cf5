/** Limits how fast this node sends to a webhook with a rate limit, which is known before the second request starts. */
export class Pace {
  /** The maximum delay of a request that later requests may make up for. */
  readonly #slackMs: number;
  #limit: number | undefined;
  /** When the next request may start. */
  #freeAtMs = Number.NEGATIVE_INFINITY;

  constructor(slackMs: number) {
    this.#slackMs = slackMs;
  }

  /** Requests per second, if there is a limit. */
  get limit(): number | undefined {
    return this.#limit;
  }

  /** Sets the webhook's current limit. The request for which it was read counts against it. */
  set(limit: number | undefined, nowMs: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.#freeAtMs = limit === undefined ? nowMs : nowMs + 1_000 / limit;
  }

  /** Notes that a request starts. */
  begin(nowMs: number): void {
    if (this.#limit === undefined) return;
    // Make up for requests that start slightly late, as timers do, but not for the time a webhook was idle.
    const isLate = nowMs - this.#freeAtMs <= this.#slackMs;
    this.#freeAtMs = (isLate ? this.#freeAtMs : nowMs) + 1_000 / this.#limit;
  }

  /** Returns how long the next request has to wait, or 0 if it may start now. */
  waitMs(nowMs: number): number {
    return this.#limit === undefined ? 0 : Math.max(0, this.#freeAtMs - nowMs);
  }
}
