import type { Outcome } from '../outcomes/outcome.js';
import { type Began, type HealthReport, joinReports, reportWith } from './health.js';

export interface HealthReportsLimits {
  /** A batch with fewer outcomes than this reports the health of all its webhooks. */
  healthOutcomes: number;
  /** In a larger batch, a webhook whose status has not changed is reported at most this often. */
  healthEveryMs: number;
  /** The maximum number of webhooks to remember. */
  lanes: number;
}

/** Collects health reports until they are written together with outcomes. */
export class HealthReports {
  readonly #limits: HealthReportsLimits;
  readonly #reports = new Map<string, HealthReport>();
  /** When each webhook was last reported, and with which status. */
  readonly #reported = new Map<string, { atMs: number; status: HealthReport['last_status'] }>();

  constructor(limits: HealthReportsLimits) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#reports.size === 0;
  }

  note(delivery: Parameters<typeof reportWith>[1], outcome: Outcome, began: Began): void {
    const { webhook_id: id } = delivery;
    this.#reports.set(id, reportWith(this.#reports.get(id), delivery, outcome, began));
  }

  /**
   * Takes the reports to write with a batch of this many outcomes. With a small batch, it takes all of them, so that a
   * webhook shows an attempt as soon as its delivery list does. With a large batch, it takes the report of a webhook
   * whose status has not changed only once per `healthEveryMs`.
   */
  take(outcomes: number, nowMs: number): readonly HealthReport[] {
    const taken = [...this.#reports.values()].filter(({ webhook_id: id, last_status: status }) => {
      const last = this.#reported.get(id);
      return (
        outcomes < this.#limits.healthOutcomes ||
        last?.status !== status ||
        nowMs - last.atMs >= this.#limits.healthEveryMs
      );
    });
    if (this.#reported.size > this.#limits.lanes) this.#reported.clear();
    for (const { webhook_id: id, last_status: status } of taken) {
      this.#reports.delete(id);
      this.#reported.set(id, { atMs: nowMs, status });
    }
    return taken;
  }

  /** Puts back reports that could not be written. */
  putBack(reports: readonly HealthReport[]): void {
    for (const report of reports) {
      const later = this.#reports.get(report.webhook_id);
      this.#reported.delete(report.webhook_id);
      this.#reports.set(report.webhook_id, later ? joinReports(report, later) : report);
    }
  }
}
