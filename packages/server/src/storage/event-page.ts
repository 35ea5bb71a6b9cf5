import type { StoredEvent } from '../domain/event.js';
import type { Order, Position } from '../domain/page.js';
import type { Database } from './database.js';
import { type EventFilter, readEvents, readHorizonMs } from './events.js';
import { type Page, pageOf } from './page.js';

/** Sorts after every event of its millisecond. */
const endOfMillisecond = '~';

export async function readEventPage(
  database: Database,
  filter: EventFilter,
  order: Order,
  after: Position | undefined,
  limit: number,
  readHorizon = () => readHorizonMs(database, filter.organization_id),
): Promise<Page<StoredEvent>> {
  if (order === 'desc') return pageOf(await readEvents(database, filter, order, after, limit + 1), limit);
  // Up to the horizon and no further: what commits late is found behind it, never skipped before it.
  const settledMs = (await readHorizon()) - 1;
  const toMs = Math.min(filter.toMs ?? settledMs, settledMs);
  const page = pageOf(await readEvents(database, { ...filter, toMs }, order, after, limit + 1), limit);
  // A range that ends before 1970 is as good as one that ends with 1970's first millisecond.
  const end = { atMs: Math.max(toMs, 0), id: endOfMillisecond };
  return page.hasMore ? page : { ...page, next: later(after, end) };
}

/** Where the stream is now: a reader that starts here sees whatever is committed from now on. */
export async function presentPosition(database: Database, organizationId: string): Promise<Position> {
  return { atMs: (await readHorizonMs(database, organizationId)) - 1, id: endOfMillisecond };
}

/** A horizon can step back for a moment, when a transaction takes its lock late; a reader must not. */
function later(a: Position | undefined, b: Position): Position {
  if (!a) return b;
  return a.atMs > b.atMs || (a.atMs === b.atMs && a.id > b.id) ? a : b;
}
