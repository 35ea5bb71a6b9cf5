import type { Database, Queryable } from '../postgres/database.js';
import { type Page, pageBy, pageOf } from '../postgres/keyset.js';
import type { Order, Position } from '../values/cursor.js';
import { eventJsonPosition, type StoredEvent } from './event.js';
import { type EventFilter, readEvents, readEventTexts, readHorizonMs } from './event-store.js';

/** Sorts after every event of its millisecond. */
const endOfMillisecond = '~';

/** Runs `work` on a database that has everything committed before the call: the primary or a replica. */
export type ReadEvents = <T>(work: (database: Queryable) => Promise<T>) => Promise<T>;

export interface PageSource {
  run: ReadEvents;
  readHorizon: () => Promise<number>;
  /** The page ends with the event that reaches this size. */
  bytesMax: number;
}

/** Reads one page of events. An ascending page ends at the horizon. */
export function readEventPage(
  database: Database,
  filter: EventFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
  {
    run = (work) => work(database),
    readHorizon = () => readHorizonMs(database, filter.organization_id),
    bytesMax,
  }: Partial<PageSource> = {},
): Promise<Page<StoredEvent>> {
  const read = async (part: EventFilter) => {
    const { events, found } = await run((source) =>
      readEvents(source, part, order, after, limit + 1, bytesMax),
    );
    return pageOf(events, limit, found);
  };
  return order === 'desc' ? read(filter) : readToHorizon(read, filter, after, readHorizon);
}

/** Reads the page that `readEventPage` reads, but returns JSON texts that are ready to send. */
export function readEventTextPage(
  database: Database,
  filter: EventFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
  run: ReadEvents,
): Promise<Page<string>> {
  const read = async (part: EventFilter) => {
    const { events, found } = await run((source) => readEventTexts(source, part, order, after, limit + 1));
    return pageBy(eventJsonPosition, events, limit, found);
  };
  return order === 'desc'
    ? read(filter)
    : readToHorizon(read, filter, after, () => readHorizonMs(database, filter.organization_id));
}

/**
 * Reads up to the horizon: an event that commits late appears after the horizon, so no reader misses it. The
 * primary knows the horizon, because recording transactions hold their locks there. The horizon is read
 * first: everything before it is committed by then, so a replica that is read afterwards has all of that.
 */
async function readToHorizon<Row>(
  read: (part: EventFilter) => Promise<Page<Row>>,
  filter: EventFilter,
  after: Position | undefined,
  readHorizon: () => Promise<number>,
): Promise<Page<Row>> {
  const completeToMs = (await readHorizon()) - 1;
  const toMs = Math.min(filter.toMs ?? completeToMs, completeToMs);
  const page = await read({ ...filter, toMs });
  // Cursors cannot hold negative times. Before 1970 there are no events anyway.
  const end = { atMs: Math.max(toMs, 0), id: endOfMillisecond };
  return page.hasMore ? page : { ...page, next: later(after, end) };
}

/** Returns the current end of the stream. A reader that starts here sees every event that commits later. */
export async function endOfStream(database: Database, organizationId: string): Promise<Position> {
  return { atMs: (await readHorizonMs(database, organizationId)) - 1, id: endOfMillisecond };
}

/**
 * Returns the later position. The horizon can move back briefly when a transaction takes its lock late, but a reader
 * must not.
 */
function later(a: Position | undefined, b: Position): Position {
  if (!a) return b;
  return a.atMs > b.atMs || (a.atMs === b.atMs && a.id > b.id) ? a : b;
}
