import type { Evidence } from '../outcomes/outcome.js';
import type { Queryable } from '../postgres/database.js';
import { ensurePartitions } from '../postgres/partitions.js';

/** A delivery and the result of its latest attempt, without the response. */
export interface StoredDelivery {
  id: string;
  webhook_id: string;
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

/** A delivery in a list. While its webhook is not active, it is not attempted, even if it is due. */
export interface ListedDelivery extends StoredDelivery {
  webhook_is_active: boolean;
}

export interface EarlierAttempt {
  attempt: number;
  attempted_at: string;
  http_status: number | null;
  error: string | null;
  duration_ms: number | null;
  response: string | null;
  evidence?: Evidence | null;
}

export interface DeliveryDetail extends StoredDelivery {
  response: string | null;
  evidence: Evidence | null;
  earlier_attempts: EarlierAttempt[] | null;
}

export const deliveryColumns = `id, webhook_id, event_id, event_type, event_created_at, status, attempts, due_at,
         attempted_at, http_status, error, duration_ms, created_at`;

export interface DeliveryKey {
  organization_id: string;
  webhook_id: string;
  createdMs: number;
  id: string;
}

const keyOf = (key: DeliveryKey) => [key.organization_id, key.webhook_id, new Date(key.createdMs), key.id];

export async function readDelivery(
  database: Queryable,
  key: DeliveryKey,
): Promise<DeliveryDetail | undefined> {
  const { rows } = await database.query<DeliveryDetail>({
    text: `
  select ${deliveryColumns}, response, evidence, earlier_attempts
    from posthorn.deliveries
   where organization_id = $1 and webhook_id = $2 and created_at = $3 and id = $4 and status <> 'cancelled'
   union all
  -- Until a delivery is settled for the first time, it has no row of its own.
  select $4, $2, e.id, e.type, e.created_at, 'pending', 0::smallint, o.created_at, null, null, null, null,
         o.created_at, null, null, null
    from posthorn.open_shares($1, array[$2], substr($4, 6, 16), $3) o
    join posthorn.events e
      on e.organization_id = $1 and e.created_at = o.created_at
     and e.id = posthorn.numbered('EVT-', o.head, o.event_base + o.ordinal)
   where o.base + o.ordinal = posthorn.number_of($4)`,
    values: keyOf(key),
  });
  return rows[0];
}

/**
 * An SQL condition: whether a delivery is waiting and no node has it in memory. This includes held deliveries, which
 * are due as soon as they are released.
 */
export const isUnleased = "status = 'pending' and coalesce(leased_by, 0) = 0";

/** Limits the size of a delivery's log: it has at most this many extra attempts, and 20 of its schedule. */
const extraAttemptsMax = 100;

/**
 * An SQL expression: when a delivery that is brought forward resumes its schedule. Its next attempt is an extra one,
 * unless it waits for its first one or has had too many extra ones.
 */
export const resumption = `case when attempts > 0 and extra_attempts < ${extraAttemptsMax} then coalesce(resume_at, due_at) end`;

/**
 * Makes an attempt of a waiting delivery now. If it waits for a retry, that is an extra attempt. Returns the updated delivery, or undefined if it has ended or
 * has no row yet. Does not change a delivery that a node has in memory or in flight: it is being attempted or is
 * about to be.
 */
export async function bringForward(client: Queryable, key: DeliveryKey): Promise<StoredDelivery | undefined> {
  const { rows } = await client.query<StoredDelivery>({
    text: `
  update posthorn.deliveries
     set due_at = case when ${isUnleased} then least(due_at, clock_timestamp()) else due_at end,
         resume_at = case when ${isUnleased} and due_at > clock_timestamp() then ${resumption} else resume_at end
   where organization_id = $1 and webhook_id = $2 and created_at = $3 and id = $4 and status = 'pending'
  returning ${deliveryColumns}`,
    values: keyOf(key),
  });
  if (rows[0]) await client.query({ text: 'select posthorn.announce_waiting()' });
  return rows[0];
}

type Redelivery = Pick<StoredDelivery, 'webhook_id' | 'event_id' | 'event_created_at'> & {
  organization_id: string;
};

/**
 * Queues another delivery of an event, for any node to claim. Returns undefined if the event no longer exists. The time
 * and the ID, which contains it, come from the database: claims and moves to other cells compare times with its clock.
 */
export async function queueRedelivery(
  client: Queryable,
  { organization_id, webhook_id, event_id, event_created_at }: Redelivery,
): Promise<StoredDelivery | undefined> {
  const clock = await client.query<{ now: Date }>({
    text: "select date_trunc('milliseconds', clock_timestamp()) as now",
  });
  const { now } = clock.rows[0]!;
  await ensurePartitions(client, 'deliveries', [now.getTime()]);
  const { rows } = await client.query<StoredDelivery>({
    text: `
  insert into posthorn.deliveries
         (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, bytes)
  select $1, $2, $3::timestamptz, posthorn.new_id('WDLV', $3::timestamptz), e.id, e.type, e.created_at,
         $3::timestamptz, e.bytes
    from posthorn.events e
   where e.organization_id = $1 and e.created_at = $5 and e.id = $4
  returning ${deliveryColumns}`,
    values: [organization_id, webhook_id, now, event_id, event_created_at],
  });
  if (rows[0]) await client.query({ text: 'select posthorn.announce_waiting()' });
  return rows[0];
}
