import { isDelivered, type Outcome } from '../outcomes/outcome.js';

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
