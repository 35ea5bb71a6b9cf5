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
