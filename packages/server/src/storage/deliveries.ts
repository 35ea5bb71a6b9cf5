import type { Queryable } from './database.js';

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
}

/** What is written of a delivery after an attempt. `attempts` unchanged means none was made. */
export interface Settlement {
  organization_id: string;
  webhook_id: string;
  created_at: Date;
  id: string;
  status: 'pending' | 'success' | 'failed' | 'cancelled';
  attempts: number;
  due_at?: Date;
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
  notBefore: Date;
}

export async function claimDeliveries(database: Queryable, claim: Claim): Promise<readonly LeasedDelivery[]> {
  const { rows } = await database.query<LeasedDelivery>({
    name: 'claim deliveries',
    text: 'select * from posthorn.claim_deliveries($1, $2, $3, $4, $5)',
    values: [claim.node, claim.busy, claim.perWebhook, claim.webhooksMax, claim.notBefore],
    leases: true,
  });
  return rows;
}

/** Writes outcomes where the lease is still the node's; answers the ids that were written. */
export async function settleDeliveries(
  database: Queryable,
  node: number,
  settlements: readonly Settlement[],
): Promise<ReadonlySet<string>> {
  const { rows } = await database.query<{ delivery_id: string }>({
    name: 'settle deliveries',
    text: 'select delivery_id from posthorn.settle_deliveries($1, $2)',
    values: [node, JSON.stringify(settlements)],
  });
  return new Set(rows.map((row) => row.delivery_id));
}

/** Before this time no delivery is unfinished; null where none is at all. */
export async function readOldestUnfinished(database: Queryable): Promise<Date | null> {
  const { rows } = await database.query<{ day: Date | null }>({
    text: 'select posthorn.oldest_unfinished_day() as day',
  });
  return rows[0]!.day;
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
     set status = $3, error = coalesce($4, d.error)
    from waiting w
   where d.organization_id = w.organization_id and d.webhook_id = w.webhook_id
     and d.created_at = w.created_at and d.id = w.id`,
    values: [webhook.organization_id, webhook.id, end.status, end.error, limit],
  });
  return rowCount ?? 0;
}
