import type { Position } from '../domain/page.js';
import type { Queryable } from './database.js';

/** A delivery as integrators see it. */
export interface StoredDelivery {
  id: string;
  event_id: string;
  event_type: string;
  event_created_at: Date;
  status: 'pending' | 'success' | 'failed' | 'cancelled';
  attempts: number;
  due_at: Date;
  attempted_at: Date | null;
  http_status: number | null;
  error: string | null;
  duration_ms: number | null;
  created_at: Date;
}

export interface EarlierAttempt {
  attempt: number;
  attempted_at: string;
  http_status: number | null;
  error: string | null;
  duration_ms: number | null;
  response: string | null;
}

export interface DeliveryDetail extends StoredDelivery {
  response: string | null;
  earlier_attempts: EarlierAttempt[] | null;
}

export interface DeliveryFilter {
  organization_id: string;
  webhook_id: string;
  status?: 'success' | 'failed' | undefined;
  event_type?: string | undefined;
  /** The event id and the time that it contains. */
  event?: { id: string; createdMs: number } | undefined;
  fromMs: number;
  toMs?: number | undefined;
}

const columns = `id, event_id, event_type, event_created_at, status, attempts, due_at, attempted_at, http_status,
         error, duration_ms, created_at`;

/** Deliveries with at least one attempt, newest first, strictly behind `after`. */
export async function listDeliveries(
  database: Queryable,
  filter: DeliveryFilter,
  after: Position | undefined,
  limit: number,
): Promise<readonly StoredDelivery[]> {
  const values: unknown[] = [filter.organization_id, filter.webhook_id, new Date(filter.fromMs), limit];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions: string[] = [];
  if (filter.event_type !== undefined) conditions.push(`and event_type = ${bind(filter.event_type)}`);
  let first: string | undefined;
  if (filter.event !== undefined) {
    conditions.push(`and event_id = ${bind(filter.event.id)}`);
    first = `created_at = ${bind(new Date(filter.event.createdMs))}`;
  }
  if (filter.toMs !== undefined) conditions.push(`and created_at <= ${bind(new Date(filter.toMs))}`);
  if (after) {
    const [at, id] = [bind(new Date(after.atMs)), bind(after.id)];
    conditions.push(`and created_at <= ${at} and (created_at, id) < (${at}, ${id})`);
  }
  const page = (condition: string) => `
  (select ${columns}
     from posthorn.deliveries
    where organization_id = $1 and created_at >= $3 and ${condition}
          ${conditions.join('\n          ')}
    order by created_at desc, id desc
    limit $4)`;
  const { rows } = await database.query<StoredDelivery>({
    text: pageOf(waysTo(filter.status, first), page),
    values,
  });
  return rows;
}

const ofWebhook = 'webhook_id = $2';
/** Said in a way no index can serve: the way in is the event, not all that the webhook ever had. */
const alsoOfWebhook = "coalesce(webhook_id, '') = $2";

const ended = {
  any: ["attempts > 0 and status <> 'cancelled'"],
  success: ["status = 'success'"],
  failed: [
    "status = 'failed' and attempts > 0",
    "status = 'pending' and leased_by is null and attempts > 0",
    "status = 'pending' and leased_by is not null and attempts > 0",
  ],
} as const;

/**
 * The conditions that together make up a filter, each with an index of its own, so that a few failures are
 * found among millions of successes. A delivery between attempts counts as failed. `first` tells the first
 * delivery of an event from those made later.
 */
function waysTo(status: 'success' | 'failed' | undefined, first: string | undefined): readonly string[] {
  const ways = ended[status ?? 'any'];
  if (first === undefined) return ways.map((way) => `${ofWebhook} and ${way}`);
  const either = ways.map((way) => `(${way})`).join(' or ');
  return [
    `${ofWebhook} and (${either}) and ${first}`,
    `${alsoOfWebhook} and (${either}) and created_at <> event_created_at`,
  ];
}

function pageOf(ways: readonly string[], page: (condition: string) => string): string {
  if (ways.length === 1) return page(ways[0]!);
  return `select * from (${ways.map(page).join('\n  union all')}) pages order by created_at desc, id desc limit $4`;
}

export async function readDelivery(
  database: Queryable,
  key: { organization_id: string; webhook_id: string; createdMs: number; id: string },
): Promise<DeliveryDetail | undefined> {
  const { rows } = await database.query<DeliveryDetail>({
    text: `
  select ${columns}, response, earlier_attempts
    from posthorn.deliveries
   where organization_id = $1 and webhook_id = $2 and created_at = $3 and id = $4 and status <> 'cancelled'
   union all
  -- In its first attempt, or waiting for it: it has no row of its own yet.
  select $4, e.id, e.type, e.created_at, 'pending', 0::smallint, o.created_at, null, null, null, null, o.created_at,
         null, null
    from posthorn.open_shares($1, $2, substr($4, 6, 16)) o
    join posthorn.events e
      on e.organization_id = $1 and e.created_at = o.created_at
     and e.id = posthorn.numbered('EVT-', o.head, o.event_zero + o.ordinal)
   where o.created_at = $3 and o.zero + o.ordinal = posthorn.number_of($4)`,
    values: [key.organization_id, key.webhook_id, new Date(key.createdMs), key.id],
  });
  return rows[0];
}

/** Queues another delivery of an event, for any node to claim. Returns false if the event is gone. */
export async function queueRedelivery(
  client: Queryable,
  delivery: {
    organization_id: string;
    webhook_id: string;
    id: string;
    created_at: Date;
    event_id: string;
    event_created_at: Date;
  },
): Promise<boolean> {
  await client.query({
    text: "select posthorn.ensure_partition('deliveries', ($1::timestamptz at time zone 'UTC')::date)",
    values: [delivery.created_at],
  });
  const { rowCount } = await client.query({
    text: `
  insert into posthorn.deliveries
         (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, bytes)
  select $1, $2, $3, $4, e.id, e.type, e.created_at, $3, e.bytes
    from posthorn.events e
   where e.organization_id = $1 and e.created_at = $6 and e.id = $5`,
    values: [
      delivery.organization_id,
      delivery.webhook_id,
      delivery.created_at,
      delivery.id,
      delivery.event_id,
      delivery.event_created_at,
    ],
  });
  if (rowCount === 1) await client.query({ text: 'select posthorn.announce_waiting()' });
  return rowCount === 1;
}
