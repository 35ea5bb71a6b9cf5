import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

/** What this process counts, in Prometheus's form. */
export class Metrics {
  readonly registry = new Registry();
  readonly eventsRecorded = new Counter({
    name: 'posthorn_events_recorded_total',
    help: 'Events acknowledged by this process',
    registers: [this.registry],
  });
  readonly requestSeconds = new Histogram({
    name: 'posthorn_http_request_duration_seconds',
    help: 'Time to answer an HTTP request',
    labelNames: ['listener', 'method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  observeRequests(listener: string) {
    return (route: string, method: string, status: number, seconds: number) =>
      this.requestSeconds.observe({ listener, method, route, status }, seconds);
  }
}
