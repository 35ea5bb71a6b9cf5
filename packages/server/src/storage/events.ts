import type { NewEvent, StoredEvent } from '../domain/event.js';
import type { Order, Position } from '../domain/page.js';
import type { Queryable } from './database.js';
import type { LeasedDelivery } from './deliveries.js';

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
}

interface BatchRow extends RecordedEvent {
  ordinal: number;
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
    text: 'select * from posthorn.record_batch($1, $2, $3)',
    values: [events, placement.node, placement.saturated],
    leases: placement.node !== null,
  });
  const recorded: RecordedEvent[] = [];
  const leased: LeasedDelivery[] = [];
  for (const row of rows) {
    recorded[row.ordinal - 1] = { id: row.id, created_at: row.created_at };
    if (row.delivery_id !== null) leased.push(bornLeased(row, row.delivery_id));
  }
  return { events: recorded, leased, node: placement.node };
}

function bornLeased(row: BatchRow, deliveryId: string): LeasedDelivery {
  return {
    organization_id: row.organization_id,
    webhook_id: row.webhook_id,
    delivery_created_at: row.created_at,
    delivery_id: deliveryId,
    attempts: 0,
    event_id: row.id,
    type: row.type,
    event_created_at: row.created_at,
    workspace_id: row.workspace_id,
    payload: row.payload,
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

/** What a page of events is narrowed to. Times are inclusive. */
export interface EventFilter {
  organization_id: string;
  workspace_id?: string | undefined;
  type?: string | undefined;
  subject_type?: string | undefined;
  subject_id?: string | undefined;
  actor_id?: string | undefined;
  fromMs: number;
  toMs?: number | undefined;
}

const equalities = ['workspace_id', 'type', 'subject_type', 'subject_id', 'actor_id'] as const;
const columns = `id, type, organization_id, workspace_id, actor_type, actor_id, subject_type, subject_id,
         payload, created_at`;

/**
 * One page, in the order of (`created_at`, `id`), strictly behind `after`. Only the given filters appear
 * in the statement: with `$1 is null or …` the planner could not pick the filter's index.
 */
export async function readEvents(
  database: Queryable,
  filter: EventFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
): Promise<readonly StoredEvent[]> {
  const { text, values, name } = eventPageStatement(filter, order, after, limit);
  return (await database.query<StoredEvent>({ name, text, values })).rows;
}

export function eventPageStatement(
  filter: EventFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
): { name: string; text: string; values: unknown[] } {
  const values: unknown[] = [filter.organization_id, new Date(filter.fromMs), limit];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const given = equalities.filter((column) => filter[column] !== undefined);
  const conditions = given.map((column) => `and ${column} = ${bind(filter[column])}`);
  if (filter.toMs !== undefined) conditions.push(`and created_at <= ${bind(new Date(filter.toMs))}`);
  if (after) {
    const [at, id] = [bind(new Date(after.atMs)), bind(after.id)];
    const beyond = order === 'asc' ? '>' : '<';
    // The plain bound on created_at repeats the row comparison in a form that prunes partitions.
    conditions.push(`and created_at ${beyond}= ${at} and (created_at, id) ${beyond} (${at}, ${id})`);
  }
  // A limit that the planner does not know: with the number it sorts a bitmap of all matches wherever it
  // takes them for few, which after a bulk load is wrong by a factor of thousands. Without it, it counts
  // on a tenth of them and walks the index of the filter in order.
  const text = `
  select ${columns}
    from posthorn.events
   where organization_id = $1 and created_at >= $2
         ${conditions.join('\n         ')}
   order by created_at ${order}, id ${order}
   limit (select $3::int)`;
  // PostgreSQL keeps 63 characters of a name; cut off, two statements could have the same.
  const filters = given.map((column) => equalities.indexOf(column)).join('');
  const name = `events ${order} ${filters}${filter.toMs === undefined ? '' : ' to'}${after ? ' after' : ''}`;
  return { name, text, values };
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
  select ${columns}
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
