import type { NewEvent, StoredEvent } from '../domain/event.js';
import type { Order, Position } from '../domain/page.js';
import type { Queryable, Statement } from './database.js';
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

/** One for each event. */
interface EventRow {
  id: string;
  created_at: Date;
  organization_id: string;
  workspace_id: string | null;
  type: string;
  payload: string;
  webhook_id: null;
}

/** After them, one for each webhook of which deliveries were born leased. */
interface ShareRow {
  webhook_id: string;
  organization_id: string;
  created_at: Date;
  /** The identifier of the n-th is the head, then this number and n, as ten hexadecimal digits. */
  head: string;
  delivery_zero: number;
  /** Which events, counted from one. */
  ordinals: number[];
  bundled: boolean;
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
  const { rows } = await client.query<EventRow | ShareRow>(recordingOf(events, placement));
  const recorded: EventRow[] = [];
  const leased: LeasedDelivery[] = [];
  const organizations = new Set<string>();
  for (const row of rows) {
    if (row.webhook_id === null) {
      recorded.push(row);
      organizations.add(row.organization_id);
    } else {
      bornLeased(row, recorded, leased);
    }
  }
  return { events: recorded, leased, node: placement.node, organizations };
}

/** Held by nobody they are in no bundle, and a producer's own role has no rights on bundles. */
function recordingOf(events: string, { node, saturated }: Placement): Statement {
  if (node === null) {
    return {
      name: 'record batch',
      text: "select * from posthorn.record_and_lease($1, null, '{}')",
      values: [events],
    };
  }
  return {
    name: 'record and bundle',
    text: 'select * from posthorn.record_and_bundle($1, $2, $3)',
    values: [events, node, saturated],
    leases: true,
  };
}

function bornLeased(share: ShareRow, events: readonly EventRow[], leased: LeasedDelivery[]): void {
  const { organization_id, webhook_id, created_at, head, delivery_zero, ordinals } = share;
  const bundle = { organization_id, webhook_id, created_at, head, open: ordinals.length };
  for (let place = 1; place <= ordinals.length; place += 1) {
    const event = events[ordinals[place - 1]! - 1]!;
    leased.push({
      organization_id,
      webhook_id,
      delivery_created_at: created_at,
      delivery_id: `WDLV-${head}${(delivery_zero + place).toString(16).toUpperCase()}`,
      attempts: 0,
      event_id: event.id,
      type: event.type,
      event_created_at: event.created_at,
      workspace_id: event.workspace_id,
      payload: event.payload,
      bundle: share.bundled ? bundle : undefined,
    });
  }
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
