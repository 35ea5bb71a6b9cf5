import type { Histogram, Registry } from 'prom-client';

/** A histogram without labels, observed for every attempt: prom-client's own takes a microsecond each time. */
export class DurationHistogram {
  readonly name: string;
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(options: { name: string; help: string; buckets: readonly number[]; registry: Registry }) {
    this.name = options.name;
    this.help = options.help;
    this.#bounds = options.buckets;
    this.#counts = new Array<number>(options.buckets.length + 1).fill(0);
    options.registry.registerMetric(this as unknown as Histogram);
  }

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && seconds > this.#bounds[bucket]!) bucket += 1;
    this.#counts[bucket]! += 1;
    this.#sum += seconds;
  }

  /** As the registry asks for it. */
  async get() {
    const { name, help } = this;
    let count = 0;
    const values = this.#counts.map((inBucket, bucket) => {
      count += inBucket;
      return { metricName: `${name}_bucket`, labels: { le: this.#bounds[bucket] ?? '+Inf' }, value: count };
    });
    return {
      ...{ name, help, type: 'histogram', aggregator: 'sum' },
      values: [
        ...values,
        { metricName: `${name}_sum`, labels: {}, value: this.#sum },
        { metricName: `${name}_count`, labels: {}, value: count },
      ],
    };
  }
}
