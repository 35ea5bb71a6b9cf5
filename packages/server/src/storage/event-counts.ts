import type { Database, Queryable } from './database.js';
import type { CountsQuery } from './delivery-counts.js';

/** The lengths of the periods in which events are counted, in minutes. */
export type EventStep = 1 | 60 | 1440;

/** The most that one statement counts, so that no transaction takes long after a long break. */
const windowHours = 6;

/** Counts the events that were recorded since the last call. Does nothing if another node is counting. */
export async function countEvents(database: Database): Promise<void> {
  for (let isMore = true; isMore; ) {
    isMore = await database.transaction(async (client) => {
      const { rows } = await client.query<{ more: boolean }>({
        text: 'select posthorn.count_events(make_interval(hours => $1)) as more',
        values: [windowHours],
      });
      return rows[0]!.more;
    }, true);
  }
}

/** Reads the number of events in each minute, hour or day (UTC). Periods without events are left out. */
export async function readEventCounts(
  database: Queryable,
  query: CountsQuery,
  step: EventStep,
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await database.query<{ at: Date; events: number }>({
    name: 'event counts',
    text: `
  select at, sum(events) as events
    from posthorn.event_counts
   where organization_id = $1 and scope = $2 and step = $3 and at >= $4 and at < $5
   group by at`,
    values: rangeOf(query, step),
  });
  return new Map(rows.map(({ at, events }) => [at.getTime(), events]));
}

/** Reads the most frequent event types, most frequent first. */
export async function readFrequentTypes(
  database: Queryable,
  query: CountsQuery,
  step: EventStep,
  most: number,
): Promise<readonly { type: string; count: number }[]> {
  const { rows } = await database.query<{ type: string; count: number }>({
    name: 'frequent types',
    text: `
  select type, sum(events) as count
    from posthorn.event_counts
   where organization_id = $1 and scope = $2 and step = $3 and at >= $4 and at < $5
   group by type
   order by count desc, type
   limit $6`,
    values: [...rangeOf(query, step), most],
  });
  return rows;
}

function rangeOf({ organization_id, scope, fromMs, toMs }: CountsQuery, step: EventStep): unknown[] {
  return [organization_id, scope, step, new Date(fromMs), new Date(toMs)];
}
