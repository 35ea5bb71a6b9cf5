import { allowPauses, avoidScans, type Database, type Queryable } from '../postgres/database.js';
import * as partitions from '../postgres/partitions.js';
import { dayMs } from '../values/time.js';

/**
 * Runs `work` unless another node is running it. Returns whether it ran. A separate transaction holds the lock, so the
 * lock ends with the connection even if this process dies. `work` uses other connections.
 */
export async function withMaintenanceLock(database: Database, work: () => Promise<void>): Promise<boolean> {
  return database.transaction(async (client) => {
    const { rows } = await client.query<{ held: boolean }>({
      text: "select pg_try_advisory_xact_lock(hashtextextended('posthorn.maintenance', 0)) as held",
    });
    const held = rows[0]?.held === true;
    // The transaction has nothing to do while `work` runs.
    if (held) await allowPauses(client);
    if (held) await work();
    return held;
  });
}

/** Returns a statement that begins with `from` and deletes up to `$1` old rows: those from before `$2`. */
const some = (from: string, isOld: string) => `
  ${from}
   where ctid = any (array(select ctid ${from.replace('delete ', '')} where ${isOld} limit $1)) and ${isOld}`;

/** By the database's clock, which writes the time. */
const isDayOld = "created_at < least($2, now() - interval '24 hours')";

const deletions = {
  backlog: some('delete from posthorn.backlog', '(leased_by is null or leased_by = 0) and created_at < $2'),
  event_keys: some('delete from posthorn.event_keys', isDayOld),
  request_keys: some('delete from posthorn.request_keys', isDayOld),
  // Portal sessions. There is one per visit, and the audit log keeps a record.
  tokens: some('delete from posthorn.tokens', 'portal and expires_at < $2'),
} as const;

/** Deletes up to `atMost` old rows of a table. Returns how many. */
export async function deleteOld(
  database: Queryable,
  table: keyof typeof deletions,
  before: Date,
  atMost: number,
): Promise<number> {
  const { rowCount } = await database.query({ text: deletions[table], values: [atMost, before] });
  return rowCount ?? 0;
}

/** Creates the partitions for the current time and the next two weeks. */
export async function makePartitionsAhead(database: Queryable, nowMs: number): Promise<void> {
  const weeks = Array.from({ length: partitions.daysAhead / 7 + 1 }, (_, ahead) => nowMs + ahead * 7 * dayMs);
  for (const parent of partitions.partitioned) await partitions.ensurePartitions(database, parent, weeks);
}

/**
 * Drops the partitions that contain only rows from before `keepFrom`, and returns their names. A weekly partition is
 * dropped when it has ended by `keepFrom`. A month of the audit log is dropped when it has ended by `now` and its last
 * entry is old enough. Dropping needs a short lock on the parent. If that is not available soon, the next run tries
 * again.
 */
export async function dropPartitions(
  database: Database,
  parent: partitions.Partitioned,
  keepFrom: Date,
  now: Date,
): Promise<readonly string[]> {
  // Without a time limit: finding the last entry of many chains can take a long time.
  return database.transaction(async (client) => {
    await client.query({ text: "set local lock_timeout = '500ms'" });
    await avoidScans(client);
    const dropped: string[] = [];
    let end: Date | undefined;
    for (const { name, ends } of await partitionsOf(client, parent)) {
      const isPastMonth = parent === 'audit_log' && ends <= now;
      if (ends > keepFrom && !(isPastMonth && (await isOld(client, name, keepFrom)))) break;
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
  name: string;
  ends: Date;
}

/** Returns the partitions of a table, oldest first. */
async function partitionsOf(
  client: Queryable,
  parent: partitions.Partitioned,
): Promise<readonly Partition[]> {
  const { rows } = await client.query<Partition>({
    text: `
  select c.relname::text as name, posthorn.partition_end($1, to_date(right(c.relname, 8), 'YYYYMMDD')) as ends
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = ('posthorn.' || $1)::regclass
   order by name`,
    values: [parent],
  });
  return rows;
}

/** Returns whether a table has no rows from `keepFrom` on. */
async function isOld(client: Queryable, name: string, keepFrom: Date): Promise<boolean> {
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
