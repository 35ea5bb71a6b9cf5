import type { Database, Queryable } from './database.js';
import type { CountsQuery } from './delivery-counts.js';

/** What one statement counts at most, so that a node that was away for long does not hold a transaction for long. */
const windowHours = 6;

/** Counts the events that were recorded since the last call. Another node that is at it does it alone. */
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

/** Reads how many events there were in each minute, hour or day (UTC). Times without events are left out. */
export async function readEventCounts(
  database: Queryable,
  query: CountsQuery,
  interval: 'minute' | 'hour' | 'day',
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await database.query<{ bucket: Date; events: number }>({
    name: 'event counts',
    text: `
  select date_trunc($6, at, 'UTC') as bucket, sum(events) as events
    from posthorn.event_counts
   where organization_id = $1 and scope = $2 and step = $3 and at >= $4 and at < $5
   group by 1`,
    values: [...rangeOf(query), interval],
  });
  return new Map(rows.map(({ bucket, events }) => [bucket.getTime(), events]));
}

/** Reads the most frequent event types, most frequent first. */
export async function readFrequentTypes(
  database: Queryable,
  query: CountsQuery,
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
    values: [...rangeOf(query), most],
  });
  return rows;
}

function rangeOf({ organization_id, scope, step, fromMs, toMs }: CountsQuery): unknown[] {
  return [organization_id, scope, step, new Date(fromMs), new Date(toMs)];
}
