const secondsKept = 600;
const secondsMeasured = 10;

/** Counts by second, for the current rate and a chart of the last minutes. */
export class RateMeter {
  readonly #startedMs: number;
  /** Counts by second since the start. Only the latest are kept. */
  readonly #counts = new Map<number, number>();

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  count(nowMs: number): void {
    const second = this.#secondOf(nowMs);
    this.#counts.set(second, (this.#counts.get(second) ?? 0) + 1);
    this.#counts.delete(second - secondsKept);
  }

  /** Returns the rate per second over the last ten seconds, or since the start. */
  perSecond(nowMs: number): number {
    const current = this.#secondOf(nowMs);
    const first = Math.max(0, current - secondsMeasured);
    // The current second counts in proportion to the time passed.
    const passed = (nowMs - this.#startedMs) / 1000 - first;
    let sum = 0;
    for (let second = first; second <= current; second++) sum += this.#counts.get(second) ?? 0;
    return passed > 0 ? sum / Math.max(passed, 0.5) : 0;
  }

  /** Returns the counts of complete seconds, latest last. */
  history(nowMs: number, seconds: number): number[] {
    const current = this.#secondOf(nowMs);
    const first = Math.max(0, current - seconds);
    return Array.from({ length: current - first }, (_, index) => this.#counts.get(first + index) ?? 0);
  }

  #secondOf(nowMs: number): number {
    return Math.max(0, Math.floor((nowMs - this.#startedMs) / 1000));
  }
}
