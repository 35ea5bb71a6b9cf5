import type { NewEvent, StoredEvent } from '../domain/event.js';
import type { Order, Position } from '../domain/page.js';
import type { Queryable } from './database.js';
import type { LeasedDelivery } from './deliveries.js';
import { type PageFilter, pageStatement } from './page.js';

export interface RecordedEvent {
  id: string;
  created_at: Date;
}

/** Where new deliveries go: to this node, except those of webhooks that have enough to do there. */
export interface Placement {
  node: number | null;
  saturated: readonly string[];
}

export interface RecordedBatch {
  /** One for each event, in order. */
  events: readonly RecordedEvent[];
  /** Deliveries that were born leased to the node of the placement. */
  leased: readonly LeasedDelivery[];
  node: number | null;
  /** Whose events they are. */
  organizations: ReadonlySet<string>;
}

/** One for each event or each of its leased deliveries; only the first of an event's tells of the event. */
interface BatchRow {
  ordinal: number;
  id: string | null;
  created_at: Date;
  delivery_id: string | null;
  webhook_id: string;
  organization_id: string;
  workspace_id: string | null;
  type: string;
  payload: string;
}

/**
 * Records a batch given as the text of a JSON array, in the transaction of `client`. The text goes to
 * PostgreSQL as it is: payloads are stored without ever having been parsed and written again.
 */
export async function recordBatch(
  client: Queryable,
  events: string,
  placement: Placement = { node: null, saturated: [] },
): Promise<RecordedBatch> {
  const { rows } = await client.query<BatchRow>({
    name: 'record batch',
    text: 'select * from posthorn.record_and_lease($1, $2, $3)',
    values: [events, placement.node, placement.saturated],
    leases: placement.node !== null,
  });
  const recorded: RecordedEvent[] = [];
  const leased: LeasedDelivery[] = [];
  const organizations = new Set<string>();
  let event: BatchRow | undefined;
  for (const row of rows) {
    if (row.id !== null) {
      event = row;
      organizations.add(row.organization_id);
      recorded.push({ id: row.id, created_at: row.created_at });
    }
    if (row.delivery_id !== null && event) leased.push(bornLeased(event, row.delivery_id, row.webhook_id));
  }
  return { events: recorded, leased, node: placement.node, organizations };
}

function bornLeased(event: BatchRow, deliveryId: string, webhookId: string): LeasedDelivery {
  return {
    organization_id: event.organization_id,
    webhook_id: webhookId,
    delivery_created_at: event.created_at,
    delivery_id: deliveryId,
    attempts: 0,
    event_id: event.id as string,
    type: event.type,
    event_created_at: event.created_at,
    workspace_id: event.workspace_id,
    payload: event.payload,
  };
}

/** A `pg` client with a transaction open on it. */
export interface TransactionClient {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Records events in the transaction of somebody else's `pg` client, without looking into them. */
export async function recordEvents(
  client: TransactionClient,
  events: readonly NewEvent[],
): Promise<readonly RecordedEvent[]> {
  if (events.length === 0) return [];
  const { rows } = await client.query('select id, created_at from posthorn.record_events($1)', [
    JSON.stringify(events),
  ]);
  return rows as RecordedEvent[];
}

const eventTable = {
  name: 'events',
  columns: `id, type, organization_id, workspace_id, actor_type, actor_id, subject_type, subject_id,
         payload, created_at`,
  equalities: ['workspace_id', 'type', 'subject_type', 'subject_id', 'actor_id'],
} as const;

export type EventFilter = PageFilter<(typeof eventTable.equalities)[number]>;

/** One page, in the order of (`created_at`, `id`), strictly behind `after`. */
export async function readEvents(
  database: Queryable,
  filter: EventFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
): Promise<readonly StoredEvent[]> {
  return (await database.query<StoredEvent>(eventPageStatement(filter, order, after, limit))).rows;
}

export function eventPageStatement(
  filter: EventFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
) {
  return pageStatement(eventTable, filter, order, after, limit);
}

/** One event of this organization (and workspace, where one is named), if it is still readable. */
export async function readEvent(
  database: Queryable,
  key: {
    id: string;
    organization_id: string;
    workspace_id: string | undefined;
    createdMs: number;
    oldestMs: number;
  },
): Promise<StoredEvent | undefined> {
  const { rows } = await database.query<StoredEvent>({
    name: 'event by id',
    text: `
  select ${eventTable.columns}
    from posthorn.events
   where organization_id = $1 and created_at = $2 and id = $3
         and created_at >= $4 and ($5::text is null or workspace_id = $5)`,
    values: [
      key.organization_id,
      new Date(key.createdMs),
      key.id,
      new Date(key.oldestMs),
      key.workspace_id ?? null,
    ],
  });
  return rows[0];
}

/** Events before this time are settled: no transaction can add another there. */
export async function readHorizonMs(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ horizon: Date }>({
    name: 'event horizon',
    text: 'select posthorn.event_horizon() as horizon',
  });
  return rows[0]!.horizon.getTime();
}

/** Forgets producers' idempotency keys that are older than `before`. */
export async function deleteEventKeys(database: Queryable, before: Date): Promise<number> {
  const { rowCount } = await database.query({
    text: 'delete from posthorn.event_keys where created_at < $1',
    values: [before],
  });
  return rowCount ?? 0;
}
