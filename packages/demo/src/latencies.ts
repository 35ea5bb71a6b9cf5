const growth = Math.log(1.05);

/** Counts any number of durations in a few hundred buckets, each 5% wider than the one before. */
export class Latencies {
  readonly #buckets: number[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Adds a duration. It may be negative if another clock differs from ours. */
  add(ms: number): void {
    const bucket = ms < 1 ? 0 : 1 + Math.floor(Math.log(ms) / growth);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#count += 1;
  }

  /** Returns the duration that `fraction` of all measurements do not exceed, to within 3%, or null without any. */
  percentile(fraction: number): number | null {
    let left = Math.max(1, Math.ceil(this.#count * fraction));
    for (const [bucket, count = 0] of this.#buckets.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return bucket === 0 ? 0 : Math.round(Math.exp((bucket - 0.5) * growth));
    }
    return null;
  }

  /** Adds all measurements of another instance. */
  include(other: Latencies): void {
    for (const [bucket, count = 0] of other.#buckets.entries()) {
      this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + count;
    }
    this.#count += other.#count;
  }
}
