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
  /** How many attempts failed before the first success, and when the first of them did. All of them without a success. */
  leading_failures: number;
  leading_since_ms: number | null;
  /** How many attempts have failed since the last success. */
  failures: number;
  /** Returns what the `webhook.failing` event contains about the latest failure. */
  describe?: (() => object) | undefined;
}

/** Returns the report with one more attempt added. */
export function reportWith(
  report: HealthReport | undefined,
  webhook: { organization_id: string; webhook_id: string },
  outcome: Outcome,
  { at, monotonicMs }: Began,
  describe?: () => object,
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
    leading_failures: (report?.leading_failures ?? 0) + (isFine || report?.succeeded ? 0 : 1),
    leading_since_ms: report?.leading_since_ms ?? (isFine || report?.succeeded ? null : monotonicMs),
    failures: isFine ? 0 : (report?.failures ?? 0) + 1,
    describe: describe ?? report?.describe,
  };
}

/** Merges an earlier report with a later one. */
export function joinReports(earlier: HealthReport, later: HealthReport): HealthReport {
  const { last_at, last_status } = earlier.last_at > later.last_at ? earlier : later;
  const { succeeded, first_failure_ms } = earlier;
  const joined = {
    ...later,
    last_at,
    last_status,
    leading_failures: earlier.leading_failures + (succeeded ? 0 : later.leading_failures),
    leading_since_ms: earlier.leading_since_ms ?? (succeeded ? null : later.leading_since_ms),
    describe: later.describe ?? earlier.describe,
  };
  if (later.succeeded) return joined;
  return {
    ...joined,
    succeeded,
    first_failure_ms: first_failure_ms ?? later.first_failure_ms,
    failures: earlier.failures + later.failures,
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

  note(
    delivery: Parameters<typeof reportWith>[1],
    outcome: Outcome,
    began: Began,
    describe?: () => object,
  ): void {
    const { webhook_id: id } = delivery;
    this.#reports.set(id, reportWith(this.#reports.get(id), delivery, outcome, began, describe));
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

  /**
   * Puts back reports that could not be written. If they may have been written (`isInDoubt`), drops the numbers of
   * failures: counting a failure twice could report an incident too early, and without it, the next failures count.
   */
  putBack(reports: readonly HealthReport[], isInDoubt = false): void {
    for (const one of reports) {
      const report = isInDoubt ? { ...one, leading_failures: 0, failures: 0 } : one;
      const later = this.#reports.get(report.webhook_id);
      this.#reported.delete(report.webhook_id);
      this.#reports.set(report.webhook_id, later ? joinReports(report, later) : report);
    }
  }
}
