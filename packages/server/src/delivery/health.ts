import { isDelivered, type Outcome } from '../domain/delivery.js';
import type { HealthReport } from '../storage/settlements.js';
import { limits } from './limits.js';

interface Noted {
  report: HealthReport;
  /** Whether the webhook went from success to failure or back since it was last reported. */
  isChanged: boolean;
}

/** Gathers what attempts say about webhooks until it is written with their outcomes. */
export class HealthBook {
  readonly #noted = new Map<string, Noted>();
  /** When each webhook was last reported, and with which status. */
  readonly #reported = new Map<string, { atMs: number; status: HealthReport['last_status'] }>();

  get isEmpty(): boolean {
    return this.#noted.size === 0;
  }

  note(organizationId: string, webhookId: string, outcome: Outcome, at: Date): void {
    const isFine = isDelivered(outcome);
    const report = this.#noted.get(webhookId)?.report ?? {
      organization_id: organizationId,
      webhook_id: webhookId,
      last_at: at,
      last_status: 'failed',
      succeeded: false,
      first_failure_at: null,
      last_failure_at: null,
    };
    // An attempt that hung ends after others that began later.
    if (at >= report.last_at) {
      report.last_at = at;
      report.last_status = isFine ? 'success' : 'failed';
    }
    if (isFine) {
      report.succeeded = true;
      report.first_failure_at = null;
      report.last_failure_at = null;
    } else {
      report.first_failure_at ??= at;
      report.last_failure_at = at;
    }
    const isChanged = this.#reported.get(webhookId)?.status !== report.last_status;
    this.#noted.set(webhookId, { report, isChanged });
  }

  /**
   * Takes the reports to write with so many outcomes. With few, all of them, so that a webhook shows an attempt as soon
   * as the list of its deliveries does. With many, a webhook whose status has not changed is reported once a second.
   */
  take(outcomes: number, nowMs: number): readonly HealthReport[] {
    const reports: HealthReport[] = [];
    for (const [id, { report, isChanged }] of this.#noted) {
      const dueMs = (this.#reported.get(id)?.atMs ?? Number.NEGATIVE_INFINITY) + limits.healthEveryMs;
      if (outcomes >= limits.healthOutcomes && !isChanged && nowMs < dueMs) continue;
      this.#noted.delete(id);
      this.#reported.set(id, { atMs: nowMs, status: report.last_status });
      reports.push(report);
    }
    if (this.#reported.size > limits.lanes) this.#reported.clear();
    // Every node locks them in the same order, so that two cannot wait for each other.
    return reports.sort((a, b) => (a.webhook_id < b.webhook_id ? -1 : 1));
  }

  /** Puts back reports that could not be written, unless newer ones cover them. */
  putBack(reports: readonly HealthReport[]): void {
    for (const report of reports) {
      const newer = this.#noted.get(report.webhook_id)?.report;
      if (!newer) this.#noted.set(report.webhook_id, { report, isChanged: true });
      else if (!newer.succeeded) {
        newer.succeeded = report.succeeded;
        newer.first_failure_at = report.first_failure_at ?? newer.first_failure_at;
      }
    }
  }
}
