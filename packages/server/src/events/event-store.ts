import type { Database, Queryable } from '../postgres/database.js';
import { type Page, type PageFilter, pageStatement } from '../postgres/keyset.js';
import type { Order, Position } from '../values/cursor.js';
import { eventJsonAt, eventJsonPosition, type StoredEvent } from './event.js';

const eventTable = {
  name: 'events',
  columns: `id, type, organization_id, workspace_id, actor_type, actor_id, subject_type, subject_id,
         payload, created_at, bytes`,
  equalities: ['workspace_id', 'type', 'subject_type', 'subject_id', 'actor_id'],
} as const;

export type EventFilter = PageFilter<(typeof eventTable.equalities)[number]>;

/** A page ends with the event that reaches this size, so that pages that clients read slowly take little memory. */
const pageBytesMax = 8 * 1024 * 1024;
/** Sorts after every event of its millisecond. */
const endOfMillisecond = '~';
/** Control characters, which occur neither in JSON nor in the identifiers of an event. */
const [recordSeparator, fieldSeparator] = ['\x1e', '\x1f'];
/**
 * The columns of a page: an event as one text, and its size. A microsecond more makes PostgreSQL print milliseconds even
 * if they are zeros. The workspace is last, because `concat_ws` leaves out nulls.
 */
const pageTable = {
  ...eventTable,
  columns: `
         concat_ws(chr(${fieldSeparator.charCodeAt(0)}), id, type, organization_id, actor_type, actor_id, subject_type, subject_id,
                   payload, created_at at time zone 'UTC' + interval '1 microsecond', workspace_id) as text, bytes`,
};

/** Runs `work` on a database that has everything committed before the call: the primary or a replica. */
export type EventReads = <T>(work: (source: Queryable) => Promise<T>) => Promise<T>;

interface PageSource {
  reads?: EventReads;
  readHorizon?: () => Promise<number>;
  /** The page ends with the event that reaches this size. */
  bytesMax?: number;
}

/**
 * Reads one page in the order of (`created_at`, `id`), starting after `after`, each event as its `eventJson`. An
 * ascending page ends at the horizon: an event that commits late appears after it, so no reader misses it. The primary
 * knows the horizon, because recording transactions hold their locks there. The horizon is read first: everything before
 * it is committed by then, so a replica that is read afterwards has all of that.
 */
export async function readEventPage(
  database: Database,
  filter: EventFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
  { reads = (work) => work(database), readHorizon, bytesMax }: PageSource = {},
): Promise<Page<string>> {
  const read = async (part: EventFilter) => {
    const statement = eventPageStatement(part, order, after, limit + 1, bytesMax);
    const { rows } = await reads((source) =>
      source.query<{ texts: string | null; found: number }>(statement),
    );
    const { texts, found } = rows[0]!;
    const events = texts?.split(recordSeparator, limit).map(jsonOf) ?? [];
    const last = events.at(-1);
    return {
      rows: events,
      hasMore: found > events.length,
      next: last === undefined ? undefined : eventJsonPosition(last),
    };
  };
  if (order === 'desc') return read(filter);
  const horizonMs = await (readHorizon?.() ?? readHorizonMs(database, filter.organization_id));
  const toMs = Math.min(filter.toMs ?? horizonMs - 1, horizonMs - 1);
  const page = await read({ ...filter, toMs });
  // Cursors cannot hold negative times. Before 1970 there are no events anyway.
  const end = { atMs: Math.max(toMs, 0), id: endOfMillisecond };
  return page.hasMore ? page : { ...page, next: later(after, end) };
}

/**
 * Returns the later position. The horizon can move back briefly when a transaction takes its lock late, but a reader
 * must not.
 */
function later(a: Position | undefined, b: Position): Position {
  if (!a) return b;
  return a.atMs > b.atMs || (a.atMs === b.atMs && a.id > b.id) ? a : b;
}

/** Returns the current end of the stream. A reader that starts here sees every event that commits later. */
export async function endOfStream(database: Database, organizationId: string): Promise<Position> {
  return { atMs: (await readHorizonMs(database, organizationId)) - 1, id: endOfMillisecond };
}

/**
 * Returns the statement for a page of events, of which the first always fits. PostgreSQL returns the whole page as one
 * text, which costs this process less than rows of ten columns, and PostgreSQL less than making JSON.
 */
export function eventPageStatement(
  filter: EventFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
  bytesMax = pageBytesMax,
) {
  const page = pageStatement(pageTable, filter, order, after, limit);
  const values = [...page.values, bytesMax];
  const text = `
  select string_agg(text, chr(${recordSeparator.charCodeAt(0)})) filter (where fits) as texts, count(*)::int as found
    from (select text, sum(bytes) over (rows unbounded preceding) - bytes < $${values.length} as fits
            from (${page.text}) found) page`;
  return { name: page.name, text, values };
}

/** The fields of `pageTable`. */
type EventFields = [
  id: string,
  type: string,
  organization_id: string,
  actor_type: string,
  actor_id: string,
  subject_type: string,
  subject_id: string,
  payload: string,
  time: string,
  workspace_id?: string,
];

function jsonOf(text: string): string {
  const fields = text.split(fieldSeparator) as EventFields;
  const [id, type, organization_id, actor_type, actor_id, subject_type, subject_id, payload, time] = fields;
  const workspace_id = fields[9] ?? null;
  const createdAt = `${time.slice(0, 10)}T${time.slice(11, 23)}Z`;
  return eventJsonAt(
    { id, type, organization_id, workspace_id, actor_type, actor_id, subject_type, subject_id, payload },
    createdAt,
  );
}

/** Returns the statement for the newest events. Its first value is the organization. */
export const eventPage = (filter: EventFilter, limit: number) =>
  pageStatement(eventTable, filter, 'desc', undefined, limit);

/** Reads one event of this organization (and workspace, if given), if it is within its retention period. */
export async function readEvent(
  database: Queryable,
  key: {
    id: string;
    organization_id: string;
    workspace_id: string | undefined;
    createdMs: number;
    earliestMs: number;
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
      new Date(key.earliestMs),
      key.workspace_id ?? null,
    ],
  });
  return rows[0];
}

/**
 * Returns the horizon of an organization: no transaction can add an event before it. With null, returns the earliest
 * horizon of all organizations.
 */
export async function readHorizonMs(database: Queryable, organizationId: string | null): Promise<number> {
  const { rows } = await database.query<{ horizon: Date }>({
    name: 'event horizon',
    text: 'select posthorn.event_horizon($1) as horizon',
    values: [organizationId],
  });
  return rows[0]!.horizon.getTime();
}
