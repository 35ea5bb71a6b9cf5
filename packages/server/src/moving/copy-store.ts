import { pipeline } from 'node:stream/promises';
import { escapeIdentifier, escapeLiteral } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { allowPauses, type Database, type Queryable, type Transaction } from '../postgres/database.js';
import { avoidScans } from '../postgres/transaction.js';

/** A table with rows of organizations. */
export interface Table {
  name: string;
  columns: readonly string[];
}

/**
 * The tables whose rows stay in a cell that an organization has left: requests that name tokens and resources are refused
 * with its cell, and the audit log can only be appended to.
 */
const signposts = ['tokens', 'resources', 'audit_chains', 'audit_log'];

/**
 * Lists all tables that have rows of organizations, except the states of moves: each one after those that its rows refer
 * to. A new table is included as soon as it exists.
 */
export async function readTables(client: Queryable): Promise<readonly Table[]> {
  const { rows } = await client.query<Table & { refers: string[] }>({
    text: `
  select c.relname::text as name,
         (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
           where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
         array(select r.relname::text from pg_constraint f join pg_class r on r.oid = f.confrelid
                where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as refers
    from pg_class c
    join pg_attribute o on o.attrelid = c.oid and o.attname = 'organization_id' and not o.attisdropped
   where c.relnamespace = 'posthorn'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and c.relname <> 'relocations'
   order by c.relname`,
  });
  const left = new Map(rows.map((row) => [row.name, row]));
  const sorted: Table[] = [];
  while (left.size > 0) {
    const next = [...left.values()].find(({ refers }) => !refers.some((name) => left.has(name)));
    if (!next) throw new Error('the tables refer to each other in a circle');
    left.delete(next.name);
    sorted.push(next);
  }
  return sorted;
}

/**
 * Returns the condition for the rows that are copied. A request without a response cannot end in the other cell. Audit
 * log entries that the other cell kept from an earlier stay are still there.
 */
function conditionOf(name: string, organizationId: string, entriesThere: number): string {
  const own = `organization_id = ${escapeLiteral(organizationId)}`;
  if (name === 'request_keys') return `${own} and status is not null`;
  return name === 'audit_log' ? `${own} and position > ${entriesThere}` : own;
}

/** The number of rows of an organization in each table or, if the table has partitions, in each partition. */
export type Counts = ReadonlyMap<string, number>;

export async function countRows(
  client: Queryable,
  tables: readonly Table[],
  organizationId: string,
  entriesThere = 0,
): Promise<Counts> {
  const counts = tables.map(
    ({ name }) => `
  select c.relname::text as name, t.rows
    from (select tableoid, count(*) as rows from posthorn.${name}
           where ${conditionOf(name, organizationId, entriesThere)} group by 1) t
    join pg_class c on c.oid = t.tableoid`,
  );
  const { rows } = await client.query<{ name: string; rows: number }>({ text: counts.join(' union all ') });
  return new Map(rows.map(({ name, rows: count }) => [name, count]));
}

export function sumOf(counts: Counts): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** Creates the partitions that these rows need. Each statement holds its lock only briefly. */
export async function makePartitionsFor(database: Queryable, counts: Counts): Promise<void> {
  for (const name of counts.keys()) {
    const [, parent, start] = /^(\w+)_(\d{8})$/.exec(name) ?? [];
    if (parent !== undefined)
      await database.query({
        text: "select posthorn.ensure_partition($1, to_date($2, 'YYYYMMDD'))",
        values: [parent, start],
      });
  }
}

/**
 * Makes this transaction read and write times, numbers and bytes in a form that does not depend on the settings of the
 * database, avoid sequential scans, and wait for the other database as long as it takes.
 */
export async function useCopySettings(client: Queryable): Promise<void> {
  await allowPauses(client);
  await client.query({
    text: `set local timezone = 'UTC'; set local datestyle = 'ISO'; set local bytea_output = 'hex';
           set local extra_float_digits = 1`,
  });
  await avoidScans(client);
}

/** Runs `work` in a transaction whose statements all see the same rows. */
export async function withSnapshot<T>(
  database: Database,
  work: (client: Transaction) => Promise<T>,
): Promise<T> {
  return database.transaction(async (client) => {
    await client.query({ text: 'set transaction isolation level repeatable read, read only' });
    await useCopySettings(client);
    return work(client);
  }, true);
}

/** Streams the rows of a statement into a table. Returns how many, and calls `onRows` with those of each chunk. */
async function pipe(
  source: Transaction,
  target: Transaction,
  select: string,
  into: string,
  { onRows, signal }: Watch = {},
): Promise<number> {
  const received = target.stream(copyFrom(`copy ${into} from stdin`));
  const sent = source.stream(copyTo(`copy (${select}) to stdout`));
  // In this format, every row is a line.
  if (onRows) sent.on('data', (chunk: Buffer) => onRows(chunk.toString('latin1').split('\n').length - 1));
  await pipeline(sent, received, signal ? { signal } : {}).catch((error) => {
    signal?.throwIfAborted();
    throw error;
  });
  return received.rowCount;
}

export interface Watch {
  onRows?: (rows: number) => void;
  signal?: AbortSignal | undefined;
}

/** Copies an organization's rows of one table. Returns how many. */
export async function copyTable(
  source: Transaction,
  target: Transaction,
  { name, columns }: Table,
  organizationId: string,
  entriesThere: number,
  watch: Watch,
): Promise<number> {
  const list = columns.map((column) => escapeIdentifier(column)).join(', ');
  const select = `select ${list} from posthorn.${name} where ${conditionOf(name, organizationId, entriesThere)}`;
  return pipe(source, target, select, `posthorn.${name} (${list})`, watch);
}

/** Deletes the rows of an organization that no longer lives in a cell, so that only its signposts stay. */
export async function deleteCopy(client: Queryable, organizationId: string): Promise<void> {
  await deleteRows(client, organizationId, (name) => !signposts.includes(name));
}

/** Deletes what an earlier stay has left, but for the audit log, so that the current rows can be copied. */
export async function deleteSignposts(client: Queryable, organizationId: string): Promise<void> {
  await deleteRows(client, organizationId, (name) => signposts.includes(name) && name !== 'audit_log');
}

async function deleteRows(
  client: Queryable,
  organizationId: string,
  isDeleted: (name: string) => boolean,
): Promise<void> {
  await avoidScans(client);
  for (const { name } of [...(await readTables(client))].reverse().filter((table) => isDeleted(table.name)))
    await client.query({
      text: `delete from posthorn.${name} where organization_id = $1`,
      values: [organizationId],
    });
}

/** Counts the rows of an organization that neither an earlier stay nor an aborted move leaves behind. */
export async function countForeignRows(client: Queryable, organizationId: string): Promise<number> {
  const tables = (await readTables(client)).filter(({ name }) => !signposts.includes(name));
  return sumOf(await countRows(client, tables, organizationId));
}

/**
 * Returns how many events and audit log entries of an organization `from` has and `to` does not have, of those that are
 * not older than these ages. Everything else that is recorded leaves one of the two.
 */
export async function countMissing(
  from: Database,
  to: Database,
  organizationId: string,
  eventAge = 'infinity',
  entryAge = 'infinity',
): Promise<number> {
  const own = `organization_id = ${escapeLiteral(organizationId)}`;
  const since = (age: string) =>
    age === 'infinity' ? '' : `and created_at > clock_timestamp() - ${escapeLiteral(age)}::interval`;
  return to.transaction(async (target) => {
    await useCopySettings(target);
    await target.query({
      text: `create temp table theirs (is_event boolean, created_at timestamptz(3), id text collate "C") on commit drop`,
    });
    await withSnapshot(from, (source) =>
      pipe(
        source,
        target,
        `select true, created_at, id from posthorn.events where ${own} ${since(eventAge)}
          union all
         select false, created_at, id from posthorn.audit_log where ${own} ${since(entryAge)}`,
        'theirs',
      ),
    );
    const lacks = (table: string) => `not exists (select from posthorn.${table} o
           where o.${own} and o.created_at = t.created_at and o.id = t.id)`;
    const { rows } = await target.query<{ missing: number }>({
      text: `
  select count(*) as missing from theirs t
   where case when is_event then ${lacks('events')} else ${lacks('audit_log')} end`,
    });
    return rows[0]!.missing;
  }, true);
}

/** The end of the audit chain that an earlier stay has left, and where its entries begin. */
export interface ChainEnd {
  length: number;
  hash: Buffer;
  dropped: number;
  dropped_hash: Buffer;
}

/** Returns the chain that the new cell has from an earlier stay, or undefined if it is not the start of this chain. */
export async function readChainThere(
  from: Queryable,
  to: Queryable,
  organizationId: string,
): Promise<ChainEnd | undefined> {
  const chain = {
    text: 'select length, hash, dropped, dropped_hash from posthorn.audit_chains where organization_id = $1',
    values: [organizationId],
  };
  const [there] = (await to.query<ChainEnd>(chain)).rows;
  if (!there) return { length: 0, hash: Buffer.alloc(0), dropped: 0, dropped_hash: Buffer.alloc(0) };
  const [own] = (await from.query<ChainEnd>(chain)).rows;
  const { rows } = await from.query<{ hash: Buffer }>({
    text: 'select hash from posthorn.audit_log where organization_id = $1 and position = $2',
    values: [organizationId, there.length],
  });
  const hash = there.length === own?.dropped ? own.dropped_hash : rows[0]?.hash;
  return there.length < (own?.dropped ?? 0) || hash?.equals(there.hash) ? there : undefined;
}

/** Corrects the copied end of a chain: the entries that were here before may have been dropped there since. */
export async function keepChainStart(
  client: Queryable,
  organizationId: string,
  { length, dropped, dropped_hash }: ChainEnd,
): Promise<void> {
  await client.query({
    text: `
  update posthorn.audit_chains set dropped = $2, dropped_hash = $3
   where organization_id = $1 and $4::bigint > 0 and dropped <= $4`,
    values: [organizationId, dropped, dropped_hash, length],
  });
}
