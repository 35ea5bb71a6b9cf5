import { type OrganizationMove, servesOrganization } from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { type CopiedTable, copyRows, type RowCondition, useCopySettings } from './row-copy-store.js';

export const deliveryCounts: CopiedTable = {
  name: 'delivery_counts',
  key: [
    ['scope', 'text'],
    ['step', 'smallint'],
    ['at', 'timestamptz'],
    ['part', 'int'],
  ],
  partitionedBy: 'at',
  // The counts in a row only grow, so the row with the higher counts is the newer one. It can be the existing one if
  // the organization has been in the new cell before: a node there may have added to it.
  replaces: `p.delivered + p.failed_attempts + p.given_up >= t.delivered + t.failed_attempts + t.given_up`,
};
/**
 * Copies the latest counts of an organization that already lives in the new cell. Each row belongs to one process, so
 * this does not overwrite what the nodes of the new cell have counted.
 */
export async function copyCounts(from: Database, to: Database, move: OrganizationMove): Promise<void> {
  const counted = await from.transaction(async (client) => {
    await useCopySettings(client);
    const { rows } = await client.query<{ since: string; parts: number[] | null }>({
      text: `
  select (r.since at time zone 'UTC')::text || '+00' as since,
         (select array_agg(distinct c.part)
            from posthorn.delivery_counts c
           where c.organization_id = $1 and c.step = 1 and c.at >= r.since) as parts
    from (select date_trunc('hour', coalesce(stopped_at, now()) - interval '1 hour', 'UTC') as since
            from posthorn.relocations
           where organization_id = $1) r`,
      values: [move.organizationId],
    });
    return rows[0];
  }, true);
  if (!counted) return;
  const { since, parts } = counted;
  const latest: RowCondition = { text: 't.at >= $2::timestamptz', values: [since] };
  await copyRows(from, to, move, deliveryCounts, latest, { state: 'here' });
  await addUpHours(to, move.organizationId, since, parts ?? []);
}

/**
 * Computes the hourly rows of these parts by adding up their minutes. A node adds a minute to its hour only when the
 * minute ends, and writes the hour to the old cell, too late to be copied. The result is the same row that
 * the node writes.
 */
async function addUpHours(
  database: Database,
  organizationId: string,
  since: string,
  parts: readonly number[],
): Promise<void> {
  await database.transaction(async (client) => {
    if (!(await servesOrganization(client, organizationId))) return;
    await useCopySettings(client);
    await client.query({
      text: `
  with minutes as materialized (
    select scope, date_trunc('hour', at, 'UTC') as hour, part, delivered, failed_attempts, given_up, latencies
      from posthorn.delivery_counts
     where organization_id = $1 and step = 1 and at >= $2::timestamptz and part = any ($3::int[])
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
      values: [organizationId, since, parts],
    });
  }, true);
}
