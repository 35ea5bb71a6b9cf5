import { isDelivered, type Outcome } from '../domain/delivery.js';
import type { HealthReport } from '../storage/webhooks.js';

/** Gathers what attempts say of each webhook between two reports. */
export class HealthBook {
  #reports = new Map<string, HealthReport>();

  note(organizationId: string, webhookId: string, outcome: Outcome, at: Date): void {
    const report = this.#reports.get(webhookId) ?? {
      organization_id: organizationId,
      webhook_id: webhookId,
      last_at: at,
      last_status: 'failed',
      succeeded: false,
      first_failure_at: null,
      last_failure_at: null,
    };
    this.#reports.set(webhookId, report);
    const delivered = isDelivered(outcome);
    // One that hung ends after others that were started later.
    if (at >= report.last_at) {
      report.last_at = at;
      report.last_status = delivered ? 'success' : 'failed';
    }
    if (delivered) {
      report.succeeded = true;
      report.first_failure_at = null;
      report.last_failure_at = null;
    } else {
      report.first_failure_at ??= at;
      report.last_failure_at = at;
    }
  }

  /** What was gathered since the last call. */
  take(): readonly HealthReport[] {
    // In one order on every node, so that two of them cannot wait for each other's rows.
    const reports = [...this.#reports.values()].sort((a, b) => (a.webhook_id < b.webhook_id ? -1 : 1));
    this.#reports = new Map();
    return reports;
  }
}
