import { arrayText } from '../postgres/arrays.js';
import type { Queryable } from '../postgres/database.js';
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

/**
 * Adds up the minutes of an organization's latest two hours. A process adds a minute to its hour only when the minute
 * ends, which is too late for an organization that has been copied to another cell. An hour and its minutes have the same
 * `part`, so the result is the row that the process writes.
 */
export async function addUpHours(client: Queryable, organizationId: string): Promise<void> {
  await client.query({
    text: `
  with minutes as materialized (
    select scope, date_trunc('hour', at, 'UTC') as hour, part, delivered, failed_attempts, given_up, latencies
      from posthorn.delivery_counts
     where organization_id = $1 and step = 1
       and at >= date_trunc('hour', clock_timestamp() - interval '1 hour', 'UTC')
  ), sums as (
    select scope, hour, part, sum(delivered) as delivered, sum(failed_attempts) as failed_attempts,
           sum(given_up) as given_up
      from minutes
     group by 1, 2, 3
  ), histograms as (
    select scope, hour, part, array_agg(durations order by bucket) as latencies
      from (select m.scope, m.hour, m.part, b.bucket, sum(b.durations)::int as durations
              from minutes m
             cross join unnest(m.latencies) with ordinality as b (durations, bucket)
             group by 1, 2, 3, 4) buckets
     group by 1, 2, 3
  )
  insert into posthorn.delivery_counts as c
         (organization_id, scope, step, at, part, delivered, failed_attempts, given_up, latencies)
  select $1, scope, 60, hour, part, s.delivered, s.failed_attempts, s.given_up, coalesce(h.latencies, '{}')
    from sums s
    left join histograms h using (scope, hour, part)
  on conflict (organization_id, scope, step, at, part) do update
     set delivered = excluded.delivered, failed_attempts = excluded.failed_attempts,
         given_up = excluded.given_up, latencies = excluded.latencies
   where excluded.delivered + excluded.failed_attempts + excluded.given_up
       > c.delivered + c.failed_attempts + c.given_up`,
    values: [organizationId],
  });
}

export interface CountsQuery {
  organization_id: string;
  scope: string;
  fromMs: number;
  /** Exclusive. */
  toMs: number;
}

/** Nodes update the row of an hour at the end of each minute, so it is complete shortly after the hour ends. */
const hourCompleteAfter = "interval '1 minute'";

/**
 * Reads counts with their times, one row for each process that counted. An hour that may not be complete yet is read
 * minute by minute.
 */
export async function readDeliveryCounts(
  database: Queryable,
  query: CountsQuery,
  step: Step,
): Promise<readonly (DeliveryCounts & { atMs: number })[]> {
  const inScope = 'organization_id = $1 and scope = $2 and at >= $3 and at < $4';
  const figures = 'delivered, failed_attempts, given_up, latencies::text as latencies';
  const text =
    step === 1
      ? `
  select at, ${figures} from posthorn.delivery_counts where ${inScope} and step = 1`
      : `
  with current as materialized (
    select date_trunc('hour', clock_timestamp() - ${hourCompleteAfter}, 'UTC') as hour
  )
  select at, ${figures}
    from posthorn.delivery_counts
   where ${inScope} and step = 60 and at < (select hour from current)
   union all
  select date_trunc('hour', at, 'UTC'), ${figures}
    from posthorn.delivery_counts
   where ${inScope} and step = 1 and at >= (select hour from current)`;
  const { rows } = await database.query<Omit<DeliveryCounts, 'latencies'> & { at: Date; latencies: string }>({
    name: `delivery counts ${step}`,
    text,
    values: [query.organization_id, query.scope, new Date(query.fromMs), new Date(query.toMs)],
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
