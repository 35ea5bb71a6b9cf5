import { dayMs } from '../domain/duration.js';
import { arrayText } from './array-text.js';
import type { Queryable } from './database.js';

/** First deliveries of one recording to one webhook, which have one row for all until they are settled. */
export interface Bundle {
  organization_id: string;
  webhook_id: string;
  created_at: Date;
  head: string;
  /** How many of them are not settled yet. */
  open: number;
}

/** A delivery in a node's memory, with all it takes to attempt it. */
export interface LeasedDelivery {
  organization_id: string;
  webhook_id: string;
  delivery_created_at: Date;
  delivery_id: string;
  /** Attempts made so far. */
  attempts: number;
  event_id: string;
  type: string;
  event_created_at: Date;
  workspace_id: string | null;
  /** Null where the event is gone: it outlived its retention while its delivery waited. */
  payload: string | null;
  /** Where it has no row of its own yet. */
  bundle?: Bundle | undefined;
}

/** What is written of a delivery after an attempt. `attempts` unchanged means none was made. */
export interface Settlement {
  delivery: LeasedDelivery;
  status: 'pending' | 'success' | 'failed' | 'cancelled';
  attempts: number;
  /** For one that stays pending: how long until it is due. */
  wait_ms?: number;
  attempted_at?: Date;
  http_status?: number | null;
  error?: string | null;
  duration_ms?: number | null;
  response?: string | null;
}

export interface Claim {
  node: number;
  /** Webhooks that have enough to do here already. */
  busy: readonly string[];
  perWebhook: number;
  webhooksMax: number;
  /** Of payloads, all together. One delivery is brought however large it is. */
  bytesMax: number;
  notBefore: Date;
}

/** What was claimed, and whether the bound on bytes left something behind. */
export async function claimDeliveries(
  database: Queryable,
  claim: Claim,
): Promise<{ deliveries: readonly LeasedDelivery[]; cut: boolean }> {
  const { rows } = await database.query<LeasedDelivery & { cut: boolean }>({
    name: 'claim deliveries',
    text: 'select * from posthorn.claim_due($1, $2, $3, $4, $5, $6)',
    values: [claim.node, claim.busy, claim.perWebhook, claim.webhooksMax, claim.bytesMax, claim.notBefore],
    leases: true,
  });
  return { deliveries: rows, cut: rows[0]?.cut ?? false };
}

/** Writes outcomes where the lease is still the node's; answers the ids that were written, where asked to. */
export async function settleDeliveries(
  database: Queryable,
  node: number,
  settlements: readonly Settlement[],
  answer: boolean,
): Promise<ReadonlySet<string>> {
  const column = (read: (settlement: Settlement) => number | string | null | undefined) =>
    arrayText(settlements, read);
  const { rows } = await database.query<{ delivery_id: string }>({
    name: 'settle deliveries',
    text: `
  select delivery_id
    from posthorn.settle_outcomes($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    values: [
      node,
      daysOf(settlements),
      column((one) => one.delivery.organization_id),
      column((one) => one.delivery.webhook_id),
      column((one) => one.delivery.delivery_created_at.getTime()),
      column((one) => one.delivery.delivery_id),
      column((one) => one.status),
      column((one) => one.attempts),
      column((one) => one.wait_ms),
      column((one) => one.attempted_at?.getTime()),
      column((one) => one.http_status),
      column((one) => one.error),
      column((one) => one.duration_ms),
      column((one) => one.response),
      answer,
    ],
  });
  return new Set(rows.map((row) => row.delivery_id));
}

/** The days their rows are of, as the names of the partitions end. */
function daysOf(settlements: readonly Settlement[]): string[] {
  const days = new Set(
    settlements.map(({ delivery }) => Math.floor(delivery.delivery_created_at.getTime() / dayMs)),
  );
  return Array.from(days, (day) => new Date(day * dayMs).toISOString().slice(0, 10).replaceAll('-', ''));
}

/** Before this time no delivery is unfinished; null where none is at all. */
export async function readOldestUnfinished(database: Queryable): Promise<Date | null> {
  const { rows } = await database.query<{ day: Date | null }>({
    text: 'select posthorn.oldest_unfinished_day() as day',
  });
  return rows[0]!.day;
}

/** For how long the delivery that is due the longest has been waiting for a node to take it. */
export async function readLongestWaitSeconds(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ seconds: number }>({
    name: 'longest wait',
    text: `
  select extract(epoch from clock_timestamp() - d.due_at)::float8 as seconds
    from posthorn.deliveries d
   where d.status = 'pending' and d.leased_by is null and d.due_at <= clock_timestamp()
     -- What waits for a webhook to be verified waits on purpose.
     and not exists (select from posthorn.webhooks w
                      where w.organization_id = d.organization_id and w.id = d.webhook_id
                        and w.status = 'unverified')
   order by d.due_at
   limit 1`,
  });
  return rows[0]?.seconds ?? 0;
}

/** Ends deliveries that wait for a webhook which no longer takes any: `limit` at a time. */
export async function endWaiting(
  database: Queryable,
  webhook: { organization_id: string; id: string },
  end: { status: 'failed' | 'cancelled'; error: string | null },
  limit: number,
): Promise<number> {
  const { rowCount } = await database.query({
    text: `
  with waiting as materialized (
    select organization_id, webhook_id, created_at, id
      from posthorn.deliveries
     where organization_id = $1 and webhook_id = $2 and status = 'pending' and leased_by is null
     limit $5
       for update skip locked
  )
  update posthorn.deliveries d
     set status = $3, error = coalesce($4, d.error),
         -- What the last attempt came to is kept apart from why the delivery ended.
         earlier_attempts = case
           when d.attempts = 0 or $4::text is null then d.earlier_attempts
           else coalesce(d.earlier_attempts, '[]') || jsonb_build_object(
             'attempt', d.attempts, 'attempted_at', d.attempted_at, 'http_status', d.http_status,
             'error', d.error, 'duration_ms', d.duration_ms, 'response', d.response)
         end
    from waiting w
   where d.organization_id = w.organization_id and d.webhook_id = w.webhook_id
     and d.created_at = w.created_at and d.id = w.id`,
    values: [webhook.organization_id, webhook.id, end.status, end.error, limit],
  });
  return rowCount ?? 0;
}
