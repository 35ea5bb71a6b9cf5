import type { LeasedDelivery, OpenGroup } from '../events/recording-store.js';
import { evidenceOf, type Outcome } from '../outcomes/outcome.js';
import type { Verdict } from '../outcomes/retry-schedule.js';
import { arrayText } from '../postgres/arrays.js';
import type { Queryable } from '../postgres/database.js';
import type { GivenUp } from '../webhooks/webhook.js';
import type { WebhookKey } from '../webhooks/webhook-store.js';
import type { HealthReport } from './health.js';

/** What is written about a delivery. */
export interface Settlement {
  delivery: LeasedDelivery;
  status: 'pending' | 'success' | 'failed' | 'cancelled';
  attempts: number;
  /** For a delivery that stays pending: how long until it is due. Absent if it resumes its schedule. */
  wait_ms?: number;
  /** Absent if no attempt was made. */
  attempted_at?: Date;
  http_status?: number | null;
  error?: string | null;
  duration_ms?: number | null;
  response?: string | null;
  /** JSON. Only for failed attempts. */
  evidence?: string;
}

/** Returns what is written about a delivery after an attempt. */
export function attempted(
  delivery: LeasedDelivery,
  outcome: Outcome,
  verdict: Verdict,
  attemptedAt: Date,
  url: URL,
): Settlement {
  const hasResponse = outcome.kind === 'response';
  // Written field by field: this runs for every attempt, and object spread showed up in the profile.
  const settlement: Settlement = {
    delivery,
    status: verdict.kind === 'delivered' ? 'success' : verdict.kind === 'retry' ? 'pending' : 'failed',
    attempts: delivery.attempts + 1,
    attempted_at: attemptedAt,
    http_status: hasResponse ? outcome.httpStatus : null,
    error: hasResponse ? null : outcome.error,
    duration_ms: outcome.durationMs,
    response: hasResponse ? outcome.response : null,
  };
  if (verdict.kind !== 'delivered') settlement.evidence = JSON.stringify(evidenceOf(outcome, url));
  if (verdict.kind === 'retry' && verdict.waitMs !== undefined) settlement.wait_ms = verdict.waitMs;
  return settlement;
}

/** Returns what is written about a delivery that goes back to waiting without a new attempt. */
export function givenBack(delivery: LeasedDelivery, waitMs: number): Settlement {
  return { delivery, status: 'pending', attempts: delivery.attempts, wait_ms: waitMs };
}

/** Returns the payload fields of the event about a delivery that the service gave up on. */
export function givenUp({ delivery, attempts, attempted_at, ...outcome }: Settlement): GivenUp {
  return {
    delivery_id: delivery.delivery_id,
    event_id: delivery.event_id,
    event_type: delivery.type,
    attempts,
    http_status: outcome.http_status ?? null,
    error: outcome.error ?? null,
    last_attempt_at: (attempted_at ?? new Date(0)).toISOString(),
  };
}

export interface FailingWebhook extends WebhookKey {
  failing_since_ms: number;
  last_failure_ms: number;
  /** The time of the report. All three times are by the database's clock. */
  now_ms: number;
}

export interface SettleOptions {
  /** Whether to return which deliveries were written. */
  listed: boolean;
  /** Selects the webhooks to return: those that have had only failures for at least this long. */
  failingMs: number;
}

export interface Settled {
  written: ReadonlySet<string>;
  failing: readonly FailingWebhook[];
  /** The webhooks whose reports were not written, because another transaction has locked their health. */
  unreported: ReadonlySet<string>;
}

/**
 * Writes outcomes and health reports in one statement, unless the node was declared dead. Deletes the hand-offs and
 * backlog rows that have no other open deliveries. Records the incidents that have begun or ended.
 */
export async function settle(
  database: Queryable,
  node: number,
  settlements: readonly Settlement[],
  reports: readonly HealthReport[],
  options: SettleOptions,
): Promise<Settled> {
  const column = (read: (one: Settlement) => number | string | null | undefined) =>
    arrayText(settlements, read);
  const health = (read: (one: HealthReport) => number | string | null | undefined) =>
    arrayText(reports, read);
  const nowMs = performance.now();
  const age = (ms: number | null) => (ms === null ? null : nowMs - ms);
  const done = finishedBy(settlements);
  const backlogRows = done.flatMap(({ head, backlogKey }) => (backlogKey ? [{ head, ...backlogKey }] : []));
  const { rows } = await database.query<{
    written: string[] | null;
    failing: string | null;
    unreported: string[] | null;
  }>({
    name: 'settle',
    text: `
  select written, failing, unreported, case when incidents is not null then posthorn.record_incidents(incidents) end
    from posthorn.settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
                         $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38)`,
    values: [
      node,
      options.listed,
      options.failingMs,
      column(({ delivery }) => delivery.organization_id),
      column(({ delivery }) => delivery.webhook_id),
      column(({ delivery }) => delivery.delivery_created_at.getTime()),
      column(({ delivery }) => delivery.delivery_id),
      column(({ delivery }) => (delivery.group ? delivery.event_id : null)),
      column(({ delivery }) => (delivery.group ? delivery.type : null)),
      // Stored so that a later claim can limit the total size of its payloads.
      column(({ status, delivery }) => (status === 'pending' ? bytesOf(delivery.payload) : null)),
      column(({ delivery }) => (delivery.group ? null : 'true')),
      column(({ delivery }) => delivery.due_at?.getTime()),
      column((one) => one.status),
      column((one) => one.attempts),
      column((one) => one.wait_ms),
      column((one) => one.attempted_at?.getTime()),
      column((one) => one.http_status),
      column((one) => one.error),
      column((one) => one.duration_ms),
      column((one) => one.response),
      column((one) => one.evidence),
      done.flatMap(({ head, backlogKey }) => (backlogKey ? [] : [head])),
      arrayText(backlogRows, (row) => row.organization_id),
      arrayText(backlogRows, (row) => row.webhook_id),
      arrayText(backlogRows, (row) => row.created_at.getTime()),
      arrayText(backlogRows, (row) => row.head),
      arrayText(backlogRows, (row) => row.first),
      health((report) => report.organization_id),
      health((report) => report.webhook_id),
      health((report) => report.last_at.getTime()),
      health((report) => report.last_status),
      health((report) => String(report.succeeded)),
      health((report) => age(report.first_failure_ms)),
      health((report) => age(report.last_failure_ms)),
      health((report) => report.leading_failures),
      health((report) => age(report.leading_since_ms)),
      health((report) => report.failures),
      health((report) => report.describe && JSON.stringify(report.describe())),
    ],
  });
  const { written, failing, unreported } = rows[0] ?? {};
  return {
    written: new Set(written ?? []),
    failing: failing ? (JSON.parse(failing) as FailingWebhook[]) : [],
    unreported: new Set(unreported ?? []),
  };
}

/** Returns the groups that have no open deliveries apart from these. */
function finishedBy(settlements: readonly Settlement[]): readonly OpenGroup[] {
  const counts = new Map<OpenGroup, number>();
  for (const { delivery } of settlements) {
    if (delivery.group) counts.set(delivery.group, (counts.get(delivery.group) ?? 0) + 1);
  }
  return [...counts].filter(([{ open }, count]) => open === count).map(([group]) => group);
}

/** Counts deliveries as settled. Call it after the commit. */
export function countSettled(settlements: readonly Settlement[]): void {
  for (const { delivery } of settlements) if (delivery.group) delivery.group.open -= 1;
}

function bytesOf(payload: string | null): number | null {
  return payload === null ? null : Buffer.byteLength(payload);
}
