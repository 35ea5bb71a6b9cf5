import { arrayText } from '../postgres/arrays.js';
import { avoidScans, type Database, type Queryable } from '../postgres/database.js';
import { ensurePartitions } from '../postgres/partitions.js';
import type { DeliveryCounts } from './stats.js';

/** The lengths of the counted periods, in minutes. */
export type Step = 1 | 60;

/** What one process counted for a webhook, a workspace or an organization in a minute or an hour. */
export interface CountedDeliveries extends DeliveryCounts {
  organization_id: string;
  /** The webhook, the workspace, or '' for the whole organization. */
  scope: string;
  step: Step;
  atMs: number;
  /** A random number that distinguishes rows of different processes. */
  part: number;
}

/**
 * Writes counts in one statement. Replaces earlier rows with the same `part`, so nothing is counted twice if
 * a write is repeated.
 */
export async function writeDeliveryCounts(
  database: Queryable,
  rows: readonly CountedDeliveries[],
): Promise<void> {
  if (rows.length === 0) return;
  const column = (read: (row: CountedDeliveries) => number | string) => arrayText(rows, read);
  await ensurePartitions(
    database,
    'delivery_counts',
    rows.map(({ atMs }) => atMs),
  );
  await database.query({
    name: 'count deliveries',
    text: `
  insert into posthorn.delivery_counts
         (organization_id, scope, step, at, part, delivered, failed_attempts, given_up, latencies)
  select organization_id, scope, step, to_timestamp(at_ms / 1000), part, delivered, failed_attempts, given_up,
         latencies::int[]
    from unnest($1::text[], $2::text[], $3::smallint[], $4::float8[], $5::int[], $6::int[], $7::int[], $8::int[],
                $9::text[]) as u (
           organization_id, scope, step, at_ms, part, delivered, failed_attempts, given_up, latencies)
  on conflict (organization_id, scope, step, at, part) do update
     set delivered = excluded.delivered, failed_attempts = excluded.failed_attempts,
         given_up = excluded.given_up, latencies = excluded.latencies`,
    values: [
      column((row) => row.organization_id),
      column((row) => row.scope),
      column((row) => row.step),
      column((row) => row.atMs),
      column((row) => row.part),
      column((row) => row.delivered),
      column((row) => row.failed_attempts),
      column((row) => row.given_up),
      column((row) => `{${row.latencies.join(',')}}`),
    ],
  });
}

export interface CountsQuery {
  organization_id: string;
  scope: string;
  fromMs: number;
  /** Exclusive. */
  toMs: number;
}

/** Reads counts with their times, one row for each process that counted. */
export async function readDeliveryCounts(
  database: Queryable,
  { organization_id, scope, fromMs, toMs }: CountsQuery,
  step: Step,
): Promise<readonly (DeliveryCounts & { atMs: number })[]> {
  const { rows } = await database.query<Omit<DeliveryCounts, 'latencies'> & { at: Date; latencies: string }>({
    name: 'delivery counts',
    text: `
  select at, delivered, failed_attempts, given_up, latencies::text as latencies
    from posthorn.delivery_counts
   where organization_id = $1 and scope = $2 and step = $3 and at >= $4 and at < $5`,
    values: [organization_id, scope, step, new Date(fromMs), new Date(toMs)],
  });
  return rows.map(({ at, latencies, ...counts }) => ({
    ...counts,
    atMs: at.getTime(),
    latencies: latencies === '{}' ? [] : latencies.slice(1, -1).split(',').map(Number),
  }));
}

/**
 * Returns how many deliveries of a webhook that were created since `since` have not ended yet, and when the oldest of
 * these was created.
 */
export async function readUndelivered(
  database: Queryable,
  organizationId: string,
  webhookId: string,
  since: Date,
): Promise<{ pending: number; oldest: Date | null }> {
  const { rows } = await database.query<{ pending: number; oldest: Date | null }>({
    text: `
  select count(*) as pending, min(created_at) as oldest
    from (select created_at
            from posthorn.deliveries
           where organization_id = $1 and webhook_id = $2 and created_at >= $3
             and status = 'pending' and leased_by is null
           union all
          select created_at
            from posthorn.deliveries
           where organization_id = $1 and webhook_id = $2 and created_at >= $3
             and status = 'pending' and leased_by is not null
           union all
          select created_at from posthorn.open_shares($1, array[$2], null, null)) undelivered`,
    values: [organizationId, webhookId, since],
  });
  return rows[0]!;
}

/** The lengths of the periods in which events are counted, in minutes. */
export type EventStep = 1 | 60 | 1440;

/**
 * The longest period that one statement counts. It keeps transactions short, even when counting resumes after an
 * interruption.
 */
const windowHours = 6;

/** Statistics show an event within a minute. Counting less often writes fewer rows. */
export const countingMs = 45_000;

/**
 * Counts the events that were recorded since the last call for the statistics, including those recorded from SQL. Does
 * nothing if another node is counting.
 */
export async function countEvents(database: Database): Promise<void> {
  while (await database.transaction(countNext, true));
}

/**
 * Counts the next events, up to the horizon. What is recorded later has a later time, so every event is counted exactly
 * once. Returns whether there are more.
 */
async function countNext(client: Queryable): Promise<boolean> {
  const { rows } = await client.query<{ since: string; until: string; full: boolean; days: string[] }>({
    text: `
  select since::text, until::text, until = since + make_interval(hours => $1) as full,
         array[since at time zone 'UTC', until at time zone 'UTC']::date[]::text[] as days
    from (select counted_until as since,
                 least(posthorn.event_horizon(null), counted_until + make_interval(hours => $1)) as until
            from posthorn.event_count_progress
             for update skip locked) p
   where until > since`,
    values: [windowHours],
  });
  const [next] = rows;
  if (!next) return false;
  await ensurePartitions(client, 'event_counts', next.days.map(Date.parse));
  // Only the index `events_by_time` finds the latest events of all organizations without reading older ones.
  await avoidScans(client, ['seqscan', 'indexscan', 'indexonlyscan']);
  await addCounts(client, next.since, next.until);
  await client.query({
    text: 'update posthorn.event_count_progress set counted_until = $1',
    values: [next.until],
  });
  return next.full;
}

async function addCounts(client: Queryable, since: string, until: string): Promise<void> {
  await client.query({
    text: `
  insert into posthorn.event_counts as c (organization_id, scope, step, at, type, events)
  select e.organization_id, s.scope, t.step, t.at, e.type, sum(e.events)
    from (select r.organization_id, r.workspace_id, r.type, date_trunc('minute', r.created_at, 'UTC') as minute,
                 count(*) as events
            from posthorn.events r
           where r.created_at >= $1 and r.created_at < $2
           group by 1, 2, 3, 4) e
   cross join lateral (select '' union all select e.workspace_id where e.workspace_id is not null) as s (scope)
   cross join lateral (values (1, e.minute), (60, date_trunc('hour', e.minute, 'UTC')),
                              (1440, date_trunc('day', e.minute, 'UTC'))) as t (step, at)
   group by 1, 2, 3, 4, 5
  on conflict (organization_id, scope, step, at, type) do update set events = c.events + excluded.events`,
    values: [since, until],
  });
}

/** Returns whether all events up to a time are counted. What this cell records from then on has a later time. */
export async function hasCountedUntil(database: Queryable, ms: number): Promise<boolean> {
  const { rows } = await database.query<{ until: Date }>({
    text: 'select counted_until as until from posthorn.event_count_progress',
  });
  return rows[0]!.until.getTime() > ms;
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
