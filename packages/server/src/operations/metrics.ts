import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type AttemptError, attemptErrors, isDelivered, type Outcome } from '../outcomes/outcome.js';
import type { Verdict } from '../outcomes/retry-schedule.js';

/** The classes of a status other than 2xx. A label must have few values, so it does not contain the status itself. */
const statusReasons = ['1xx', '3xx', '4xx', '5xx', 'other_status'] as const;
/** Why an attempt failed: a delivery error or the class of its status. */
type FailureReason = AttemptError | (typeof statusReasons)[number];

/** One or more values of a gauge. The keys are the values of its label. */
export type Reading = number | Readonly<Record<string, number>>;

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Collects the metrics of this process for Prometheus. The number of series does not grow with the data. */
export class Metrics {
  readonly registry = new Registry();
  /** Returns what a scrape gets, in the text format of Prometheus. */
  readonly text: () => Promise<string>;
  readonly eventsRecorded = new Counter({
    name: 'posthorn_events_recorded_total',
    help: 'Events recorded by this process',
    registers: [this.registry],
  });
  readonly requestSeconds = new Histogram({
    name: 'posthorn_http_request_duration_seconds',
    help: 'Time to respond to an HTTP request',
    labelNames: ['listener', 'method', 'route', 'status'],
    buckets: secondsBuckets,
    registers: [this.registry],
  });
  /** Has no route label: a series that appears only with the first error would hide that error from an alert. */
  readonly #internalErrors = new Counter({
    name: 'posthorn_internal_errors_total',
    help: 'HTTP requests that failed with 500',
    labelNames: ['listener'],
    registers: [this.registry],
  });
  readonly settlementSize = new Histogram({
    name: 'posthorn_settlement_batch_size',
    help: 'Outcomes written in one commit',
    buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000],
    registers: [this.registry],
  });

  readonly #attempts = new Counter({
    name: 'posthorn_delivery_attempts_total',
    help: 'Delivery attempts by verdict',
    labelNames: ['verdict'],
    registers: [this.registry],
  });
  /** Looked up once, because finding a counter by its label costs several times as much as incrementing it. */
  readonly #attemptsBy = {
    delivered: this.#attempts.labels('delivered'),
    retry: this.#attempts.labels('retry'),
    given_up: this.#attempts.labels('given_up'),
    gone: this.#attempts.labels('gone'),
  } satisfies Record<Verdict['kind'], unknown>;
  readonly #failures = new Counter({
    name: 'posthorn_delivery_attempt_failures_total',
    help: 'Failed delivery attempts by delivery error or status class',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #attemptSeconds = new Histogram({
    name: 'posthorn_delivery_attempt_duration_seconds',
    help: 'Time from the start of an attempt to its status, or to its failure',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });
  readonly #latencySeconds = new Histogram({
    name: 'posthorn_delivery_latency_seconds',
    help: 'Time from the commit of a delivery to the start of its first attempt',
    buckets: [...secondsBuckets, 10, 30, 60, 300],
    registers: [this.registry],
  });

  /** `member` is given if several processes on this machine share the listeners: a scrape returns the metrics of all. */
  constructor(member?: { process: number; collectMetrics: () => Promise<string> }) {
    this.text = member?.collectMetrics ?? (() => this.registry.metrics());
    if (member) this.registry.setDefaultLabels({ process: String(member.process) });
    // Create every series now. If they only appeared with the first attempt, rates and alerts would miss it.
    for (const attempts of Object.values(this.#attemptsBy)) attempts.inc(0);
    for (const reason of [...attemptErrors, ...statusReasons]) this.#failures.inc({ reason }, 0);
  }

  observeAttempt(outcome: Outcome, verdict: Verdict['kind']): void {
    this.#attemptsBy[verdict].inc();
    this.#attemptSeconds.observe(outcome.durationMs / 1000);
    if (!isDelivered(outcome)) this.#failures.inc({ reason: reasonOf(outcome) });
  }

  /** Notes how long a delivery waited for its first attempt. Two clocks are compared, so it can be below zero. */
  observeLatency(ms: number): void {
    this.#latencySeconds.observe(Math.max(0, ms) / 1000);
  }

  /**
   * Adds a gauge that is read for each scrape. If the read fails, it is NaN or, with a label, has no values, so that an
   * old value is never shown as a current one.
   */
  watch(name: string, help: string, read: () => Reading | Promise<Reading>, label?: string): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.registry],
      labelNames: label === undefined ? [] : [label],
      collect: async () => {
        const reading = await Promise.resolve()
          .then(read)
          .catch(() => Number.NaN);
        // Remove the values of the last scrape: a label value may no longer exist, or the read may have failed.
        gauge.reset();
        if (typeof reading === 'number') {
          if (label === undefined) gauge.set(reading);
          return;
        }
        for (const [value, number] of Object.entries(reading)) gauge.set({ [label ?? '']: value }, number);
      },
    });
  }

  /** Adds the counter of reads on a node with a read replica. Returns the function that counts one. */
  countEventReads(): (from: 'replica' | 'primary') => void {
    const reads = new Counter({
      name: 'posthorn_event_reads_total',
      help: 'Reads of the event stream on a node with a read replica, by the database that served them',
      labelNames: ['from'],
      registers: [this.registry],
    });
    for (const from of ['replica', 'primary']) reads.inc({ from }, 0);
    return (from) => reads.inc({ from });
  }

  observeRequests(listener: string) {
    this.#internalErrors.inc({ listener }, 0);
    // Looked up once, as for attempts. Routes, methods and statuses are few.
    const series = new Map<string, Histogram.Internal<string>>();
    return (route: string, method: string, status: number, seconds: number) => {
      const key = `${method} ${status} ${route}`;
      let observed = series.get(key);
      if (!observed) {
        observed = this.requestSeconds.labels({ listener, method, route, status });
        series.set(key, observed);
      }
      observed.observe(seconds);
      if (status === 500) this.#internalErrors.inc({ listener });
    };
  }
}

function reasonOf(outcome: Outcome): FailureReason {
  if (outcome.kind === 'no_response') return outcome.error;
  const reason = `${Math.floor(outcome.httpStatus / 100)}xx`;
  return statusReasons.find((known) => known === reason) ?? 'other_status';
}
