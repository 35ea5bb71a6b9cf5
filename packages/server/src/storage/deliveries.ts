import type { Queryable } from './database.js';
import type { LeasedDelivery } from './leased-delivery.js';

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

/**
 * Ends deliveries that wait for a webhook which takes none any more, `limit` at a time: failed where it is
 * disabled, cancelled where it is deleted. Those of any other webhook are left alone.
 */
export async function endWaiting(
  database: Queryable,
  webhook: { organization_id: string; id: string },
  limit: number,
): Promise<number> {
  const { rowCount } = await database.query({
    text: `
  with standing as materialized (
    select max(status) as status from posthorn.webhooks where organization_id = $1 and id = $2
  ), waiting as materialized (
    select organization_id, webhook_id, created_at, id
      from posthorn.deliveries
     where organization_id = $1 and webhook_id = $2 and status = 'pending' and leased_by is null
       and coalesce((select status from standing), 'disabled') = 'disabled'
     limit $3
       for update skip locked
  )
  update posthorn.deliveries d
     set status = case when s.status is null then 'cancelled' else 'failed' end,
         error = case when s.status is null then d.error else 'disabled' end,
         -- What the last attempt came to is kept apart from why the delivery ended.
         earlier_attempts = case
           when d.attempts = 0 or s.status is null then d.earlier_attempts
           else coalesce(d.earlier_attempts, '[]') || jsonb_build_object(
             'attempt', d.attempts, 'attempted_at', d.attempted_at, 'http_status', d.http_status,
             'error', d.error, 'duration_ms', d.duration_ms, 'response', d.response)
         end
    from waiting w cross join standing s
   where d.organization_id = w.organization_id and d.webhook_id = w.webhook_id
     and d.created_at = w.created_at and d.id = w.id`,
    values: [webhook.organization_id, webhook.id, limit],
  });
  return rowCount ?? 0;
}
