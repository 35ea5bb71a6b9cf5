/**
 * Limits how fast this node sends to a webhook that has a rate limit. The first request may start before the limit is
 * known, but the second never does.
 */
export class Pace {
  /** How late a request can start without delaying the requests after it. */
  readonly #slackMs: number;
  #limit: number | undefined;
  /** When the next request may start. */
  #freeAtMs = Number.NEGATIVE_INFINITY;

  constructor(slackMs: number) {
    this.#slackMs = slackMs;
  }

  /** Returns the limit in requests per second, if there is one. */
  get limit(): number | undefined {
    return this.#limit;
  }

  /** Sets the webhook's current limit. The request for which the limit was read counts against it. */
  set(limit: number | undefined, nowMs: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.#freeAtMs = limit === undefined ? nowMs : nowMs + 1_000 / limit;
  }

  /** Notes that a request is starting. */
  begin(nowMs: number): void {
    if (this.#limit === undefined) return;
    // If a request starts slightly late because its timer fired late, later requests keep to the original
    // schedule. Time during which the webhook was idle is not made up for.
    const isWithinSlack = nowMs - this.#freeAtMs <= this.#slackMs;
    this.#freeAtMs = (isWithinSlack ? this.#freeAtMs : nowMs) + 1_000 / this.#limit;
  }

  /** Returns how long the next request has to wait, or 0 if it may start now. */
  waitMs(nowMs: number): number {
    return this.#limit === undefined ? 0 : Math.max(0, this.#freeAtMs - nowMs);
  }
}
