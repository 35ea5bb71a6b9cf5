/** The target rate in events per second, now and on average since the start. */
export class TargetRate {
  readonly #startedMs: number;
  #perSecond: number;
  /** How many events were due by the last change, and when that was. */
  #due = 0;
  #changedMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#startedMs = nowMs;
    this.#changedMs = nowMs;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  change(perSecond: number, nowMs: number): void {
    this.#due = this.#dueBy(nowMs);
    this.#changedMs = nowMs;
    this.#perSecond = perSecond;
  }

  average(nowMs: number): number {
    const seconds = (nowMs - this.#startedMs) / 1000;
    return seconds > 0 ? this.#dueBy(nowMs) / seconds : this.#perSecond;
  }

  #dueBy(nowMs: number): number {
    return this.#due + ((nowMs - this.#changedMs) * this.#perSecond) / 1000;
  }
}
