import { dayMs } from '../values/duration.js';
import type { Database, Queryable } from './database.js';
import { avoidScans } from './transaction.js';

/** Tables whose partitions are created ahead of time. A writer creates a missing one itself. */
export const partitioned = ['events', 'deliveries', 'delivery_counts', 'event_counts', 'audit_log'] as const;
export type Partitioned = (typeof partitioned)[number];

/** Each weekly partition exists at least a week before it is needed. */
const daysAhead = 14;

/**
 * A statement locks each partition that it may read, and every index of that partition. Events and deliveries have
 * seven indexes each.
 */
export const locksPerPartition = 8;

/** Returns how many locks a statement can take if it reads events or deliveries of the whole retention period. */
export function locksOf(retentionMs: number): number {
  // Includes the current week and the weeks that have been created ahead.
  return locksPerPartition * (Math.ceil(retentionMs / (7 * dayMs)) + 1 + daysAhead / 7);
}

/** Creates the partitions for the current time and the next two weeks. Usually one statement shows that all exist. */
export async function makePartitionsAhead(database: Queryable, nowMs: number): Promise<void> {
  const weeks = Array.from({ length: daysAhead / 7 + 1 }, (_, ahead) => nowMs + ahead * 7 * dayMs);
  const existing = await partitionsOf(database, partitioned);
  for (const parent of partitioned) {
    const own = existing.filter((partition) => partition.parent === parent);
    const missing = weeks.filter(
      (ms) => !own.some(({ starts, ends }) => starts.getTime() <= ms && ms < ends.getTime()),
    );
    await ensurePartitions(database, parent, missing);
  }
}

/** Creates the partitions for these times if they are missing. */
export async function ensurePartitions(
  database: Queryable,
  parent: Partitioned,
  times: readonly number[],
): Promise<void> {
  for (const day of new Set(times.map((ms) => new Date(ms).toISOString().slice(0, 10)))) {
    // One statement each: outside a transaction, this holds the lock only briefly.
    await database.query({
      name: 'ensure partition',
      text: 'select posthorn.ensure_partition($1, $2)',
      values: [parent, day],
    });
  }
}

/**
 * Drops the partitions that contain only rows from before `keepFrom`, and returns their names. A weekly partition is
 * dropped when it has ended by `keepFrom`. A month of the audit log is dropped when it has ended by `now` and its last
 * entry is old enough. Dropping needs a short lock on the parent. If that is not available soon, the next run tries
 * again.
 */
export async function dropPartitions(
  database: Database,
  parent: Partitioned,
  keepFrom: Date,
  now: Date,
): Promise<readonly string[]> {
  // Usually even the oldest partition is too young, so no transaction is needed.
  const [oldest] = await partitionsOf(database, [parent]);
  const endedBy = parent === 'audit_log' && now > keepFrom ? now : keepFrom;
  if (!oldest || oldest.ends > endedBy) return [];
  // Without a time limit: finding the last entry of many chains can take a long time.
  return database.transaction(async (client) => {
    await client.query({ text: "set local lock_timeout = '500ms'" });
    await avoidScans(client);
    const dropped: string[] = [];
    let end: Date | undefined;
    for (const { name, ends } of await partitionsOf(client, [parent])) {
      if (ends > keepFrom && !(await hasOnlyOldEntries(client, name, ends, keepFrom, now))) break;
      dropped.push(name);
      end = ends;
    }
    // Before dropping: writers lock their chain first, then the table.
    if (end && parent === 'audit_log') await shortenChains(client, end);
    for (const name of dropped) await client.query({ text: `drop table posthorn.${name}` });
    return dropped;
  }, true);
}

interface Partition {
  parent: Partitioned;
  name: string;
  starts: Date;
  ends: Date;
}

/** Returns the partitions of each of these tables, oldest first. */
async function partitionsOf(
  client: Queryable,
  parents: readonly Partitioned[],
): Promise<readonly Partition[]> {
  const { rows } = await client.query<Partition>({
    text: `
  -- Materialized, because the planner might otherwise parse a date from the name of every table.
  with found as materialized (
    select p.parent, c.relname::text as name, to_date(right(c.relname, 8), 'YYYYMMDD') as start
      from unnest($1::text[]) as p (parent)
      join pg_inherits i on i.inhparent = ('posthorn.' || p.parent)::regclass
      join pg_class c on c.oid = i.inhrelid
  )
  select parent, name, start::timestamp at time zone 'UTC' as starts, posthorn.partition_end(parent, start) as ends
    from found
   order by name`,
    values: [parents],
  });
  return rows;
}

/** Returns whether a past month of the audit log has no entries from `keepFrom` on. */
async function hasOnlyOldEntries(
  client: Queryable,
  name: string,
  ends: Date,
  keepFrom: Date,
  now: Date,
): Promise<boolean> {
  if (!name.startsWith('audit_log') || ends > now) return false;
  const { rows } = await client.query<{ found: boolean }>({
    text: `select exists (select from posthorn.${name} where created_at >= $1) as found`,
    values: [keepFrom],
  });
  return rows[0]?.found === false;
}

/** Stores where each chain of the audit log continues after its entries before `end` are dropped. */
async function shortenChains(client: Queryable, end: Date): Promise<void> {
  await client.query({
    text: `
  update posthorn.audit_chains c
     set dropped = last.position, dropped_hash = last.hash
    from posthorn.audit_chains k
   cross join lateral (
         select a.position, a.hash
           from posthorn.audit_log a
          where a.organization_id = k.organization_id and a.created_at < $1
          order by a.created_at desc, a.id desc
          limit 1) last
   where c.organization_id = k.organization_id and last.position > c.dropped`,
    values: [end],
  });
}
