const secondsKept = 600;
const secondsMeasured = 10;

/** Counts by the second, for the rate of the last seconds and a picture of the last minutes. */
export class RateMeter {
  readonly #startedMs: number;
  /** By the second since the start; only the latest are kept. */
  readonly #counts = new Map<number, number>();

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  count(nowMs: number): void {
    const second = this.#secondOf(nowMs);
    this.#counts.set(second, (this.#counts.get(second) ?? 0) + 1);
    this.#counts.delete(second - secondsKept);
  }

  /** A second, over the last ten of them or since the start. */
  perSecond(nowMs: number): number {
    const current = this.#secondOf(nowMs);
    const first = Math.max(0, current - secondsMeasured);
    // The second that is going on counts for the part of it that has passed.
    const passed = (nowMs - this.#startedMs) / 1000 - first;
    let sum = 0;
    for (let second = first; second <= current; second++) sum += this.#counts.get(second) ?? 0;
    return passed > 0 ? sum / Math.max(passed, 0.5) : 0;
  }

  /** The counts of whole seconds, the latest last. */
  history(nowMs: number, seconds: number): number[] {
    const current = this.#secondOf(nowMs);
    const first = Math.max(0, current - seconds);
    return Array.from({ length: current - first }, (_, index) => this.#counts.get(first + index) ?? 0);
  }

  #secondOf(nowMs: number): number {
    return Math.max(0, Math.floor((nowMs - this.#startedMs) / 1000));
  }
}
