import { isDelivered, type Outcome } from './delivery.js';

/** The results of several attempts for one webhook. */
export interface HealthReport {
  organization_id: string;
  webhook_id: string;
  last_at: Date;
  last_status: 'success' | 'failed';
  succeeded: boolean;
  /** The first and the last failure since the last success. */
  first_failure_at: Date | null;
  last_failure_at: Date | null;
}

/** Returns the report with one more attempt added. */
export function reportWith(
  report: HealthReport | undefined,
  webhook: { organization_id: string; webhook_id: string },
  outcome: Outcome,
  at: Date,
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
    first_failure_at: isFine ? null : (report?.first_failure_at ?? at),
    last_failure_at: isFine ? null : at,
  };
}

/** Merges an earlier report with a later one. */
export function joinReports(earlier: HealthReport, later: HealthReport): HealthReport {
  const { last_at, last_status } = earlier.last_at > later.last_at ? earlier : later;
  if (later.succeeded) return { ...later, last_at, last_status };
  const { succeeded, first_failure_at } = earlier;
  return {
    ...later,
    last_at,
    last_status,
    succeeded,
    first_failure_at: first_failure_at ?? later.first_failure_at,
  };
}
