import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Outcome, Verdict } from '../domain/delivery.js';

/** Collects the metrics of this process for Prometheus. */
export class Metrics {
  readonly registry = new Registry();
  readonly eventsRecorded = new Counter({
    name: 'posthorn_events_recorded_total',
    help: 'Events acknowledged by this process',
    registers: [this.registry],
  });
  readonly requestSeconds = new Histogram({
    name: 'posthorn_http_request_duration_seconds',
    help: 'Time to respond to an HTTP request',
    labelNames: ['listener', 'method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  });

  readonly #attempts = new Counter({
    name: 'posthorn_delivery_attempts_total',
    help: 'Delivery attempts by verdict',
    labelNames: ['verdict'],
    registers: [this.registry],
  });
  /** Looked up once, because finding a counter by its label costs several times as much. */
  readonly #attemptsBy = {
    delivered: this.#attempts.labels('delivered'),
    retry: this.#attempts.labels('retry'),
    given_up: this.#attempts.labels('given_up'),
    gone: this.#attempts.labels('gone'),
  } satisfies Record<Verdict['kind'], unknown>;
  readonly #attemptSeconds = new Histogram({
    name: 'posthorn_delivery_attempt_duration_seconds',
    help: 'Time from the start of an attempt to its status, or to its failure',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // Without a series until the first attempt, rates and alerts would not work.
    for (const attempts of Object.values(this.#attemptsBy)) attempts.inc(0);
  }

  observeAttempt(outcome: Outcome, verdict: Verdict['kind']): void {
    this.#attemptsBy[verdict].inc();
    this.#attemptSeconds.observe(outcome.durationMs / 1000);
  }

  watchQueue(read: () => { queued: number; inFlight: number }): void {
    const gauge = new Gauge({
      name: 'posthorn_deliveries_in_memory',
      help: 'Deliveries leased to this process',
      labelNames: ['state'],
      registers: [this.registry],
      collect: () => {
        const { queued, inFlight } = read();
        gauge.set({ state: 'queued' }, queued);
        gauge.set({ state: 'in_flight' }, inFlight);
      },
    });
  }

  /** Adds a gauge for an age that is read from the database. It is NaN while the database is unreachable. */
  watchAge(name: string, help: string, readSeconds: () => Promise<number>): void {
    const gauge: Gauge = new Gauge({
      ...{ name, help, registers: [this.registry] },
      collect: async () => {
        gauge.set(await readSeconds().catch(() => Number.NaN));
      },
    });
  }

  observeRequests(listener: string) {
    return (route: string, method: string, status: number, seconds: number) =>
      this.requestSeconds.observe({ listener, method, route, status }, seconds);
  }
}
