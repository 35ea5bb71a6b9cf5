import { isDelivered, type Outcome } from '../outcomes/outcome.js';
import { limits } from './limits.js';

/** When an attempt began, according to two clocks. */
export interface Began {
  at: Date;
  /** According to a clock that never jumps, unlike the system clock. */
  monotonicMs: number;
}

/** The results of several attempts for one webhook. */
export interface HealthReport {
  organization_id: string;
  webhook_id: string;
  last_at: Date;
  last_status: 'success' | 'failed';
  succeeded: boolean;
  /** The first and the last failure since the last success, by the monotonic clock. */
  first_failure_ms: number | null;
  last_failure_ms: number | null;
}

/** Returns the report with one more attempt added. */
export function reportWith(
  report: HealthReport | undefined,
  webhook: { organization_id: string; webhook_id: string },
  outcome: Outcome,
  { at, monotonicMs }: Began,
): HealthReport {
  const { organization_id, webhook_id } = webhook;
  const isFine = isDelivered(outcome);
  // An attempt that hangs may end after later attempts.
  const isLatest = !report || at >= report.last_at;
  return {
    organization_id,
    webhook_id,
    last_at: isLatest ? at : report.last_at,
    last_status: isLatest ? (isFine ? 'success' : 'failed') : report.last_status,
    succeeded: isFine || (report?.succeeded ?? false),
    first_failure_ms: isFine ? null : (report?.first_failure_ms ?? monotonicMs),
    last_failure_ms: isFine ? null : monotonicMs,
  };
}

/** Merges an earlier report with a later one. */
export function joinReports(earlier: HealthReport, later: HealthReport): HealthReport {
  const { last_at, last_status } = earlier.last_at > later.last_at ? earlier : later;
  if (later.succeeded) return { ...later, last_at, last_status };
  const { succeeded, first_failure_ms } = earlier;
  return {
    ...later,
    last_at,
    last_status,
    succeeded,
    first_failure_ms: first_failure_ms ?? later.first_failure_ms,
  };
}

/** Collects health reports until they are written together with outcomes. */
export class HealthReports {
  readonly #reports = new Map<string, HealthReport>();
  /** When each webhook was last reported, and with which status. */
  readonly #reported = new Map<string, { atMs: number; status: HealthReport['last_status'] }>();

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
        outcomes < limits.healthOutcomes ||
        last?.status !== status ||
        nowMs - last.atMs >= limits.healthEveryMs
      );
    });
    if (this.#reported.size > limits.lanes) this.#reported.clear();
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
