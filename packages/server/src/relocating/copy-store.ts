import { pipeline } from 'node:stream/promises';
import { escapeIdentifier, escapeLiteral } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { Database, Queryable, Transaction } from '../postgres/database.js';
import { allowPauses, avoidScans } from '../postgres/database.js';

/** A table with rows of organizations. */
export interface Table {
  name: string;
  columns: readonly string[];
}

/** A cell that an organization has left keeps these rows: requests that name a token or a resource get its cell. */
const signposts = ['tokens', 'resources'];
/** A node may write the last of these after the copy here was deleted. They are counts, which the other cell has, too. */
const late = ['delivery_counts'];

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
  const sorted: Table[] = [];
  for (let left = rows; left.length > 0; left = left.filter((table) => !sorted.includes(table))) {
    const next = left.find(({ refers }) => !left.some(({ name }) => refers.includes(name)));
    if (!next) throw new Error('the tables refer to each other in a circle');
    sorted.push(next);
  }
  return sorted;
}

const own = (organizationId: string) => `organization_id = ${escapeLiteral(organizationId)}`;

/** Returns the condition for the rows that are copied. A request without a response cannot end in the other cell. */
const conditionOf = (table: string, organizationId: string) =>
  `${own(organizationId)}${table === 'request_keys' ? ' and status is not null' : ''}`;

/** The number of rows of an organization in each table or, if the table has partitions, in each partition. */
export type Counts = ReadonlyMap<string, number>;

export async function countRows(
  client: Queryable,
  tables: readonly Table[],
  organizationId: string,
): Promise<Counts> {
  const counts = tables.map(
    ({ name }) => `
  select c.relname::text as name, t.rows
    from (select tableoid, count(*) as rows from posthorn.${name}
           where ${conditionOf(name, organizationId)} group by 1) t
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

/** Streams the rows of a statement into a table. Calls `onRows` with how many there are in each chunk. */
async function pipe(
  source: Transaction,
  target: Transaction,
  select: string,
  into: string,
  onRows: (rows: number) => void = () => undefined,
): Promise<void> {
  const received = target.stream(copyFrom(`copy ${into} from stdin`));
  const sent = source.stream(copyTo(`copy (${select}) to stdout`));
  // In this format, every row is a line.
  sent.on('data', (chunk: Buffer) => onRows(chunk.toString('latin1').split('\n').length - 1));
  await pipeline(sent, received);
}

/** Copies an organization's rows of one table. */
export async function copyTable(
  source: Transaction,
  target: Transaction,
  { name, columns }: Table,
  organizationId: string,
  onRows: (rows: number) => void,
): Promise<void> {
  const list = columns.map((column) => escapeIdentifier(column)).join(', ');
  const select = `select ${list} from posthorn.${name} where ${conditionOf(name, organizationId)}`;
  await pipe(source, target, select, `posthorn.${name} (${list})`, onRows);
}

/** Deletes the rows of an organization that is forgotten here, except those that name its cell. */
export async function deleteCopy(client: Queryable, organizationId: string): Promise<void> {
  await useCopySettings(client);
  const tables = [...(await readTables(client))].reverse();
  // Nobody may delete audit log entries, except those of an organization that is forgotten.
  await client.query({ text: 'grant delete on posthorn.audit_log to current_user' });
  for (const { name } of tables.filter((table) => !signposts.includes(table.name)))
    await deleteRows(client, name, organizationId);
  await client.query({ text: 'revoke delete on posthorn.audit_log from current_user' });
}

/** Deletes the rows that a forgotten organization has left here, so that its current rows can be copied. */
export async function deleteLeftovers(client: Queryable, organizationId: string): Promise<void> {
  for (const name of [...signposts, ...late]) await deleteRows(client, name, organizationId);
}

async function deleteRows(client: Queryable, table: string, organizationId: string): Promise<void> {
  await client.query({ text: `delete from posthorn.${table} where ${own(organizationId)}` });
}

/**
 * Returns how many events and audit log entries of an organization `from` has and `to` does not have, except those that
 * retention may have dropped there. Everything else that is recorded leaves one of the two.
 */
export async function countMissing(
  from: Database,
  to: Database,
  organizationId: string,
  retentionMs: number,
): Promise<number> {
  return to.transaction(async (target) => {
    await useCopySettings(target);
    await target.query({
      text: `create temp table theirs (is_event boolean, created_at timestamptz(3), id text collate "C") on commit drop`,
    });
    const listOf = (table: string, age: string) => `
  select ${table === 'events'}, created_at, id from posthorn.${table}
   where ${own(organizationId)} and created_at > clock_timestamp() - interval '${age}'`;
    const select = `${listOf('events', `${retentionMs} milliseconds`)} union all ${listOf('audit_log', '12 months')}`;
    await withSnapshot(from, (source) => pipe(source, target, select, 'theirs'));
    const lacks = (table: string) => `
         not exists (select from posthorn.${table} o
                      where o.${own(organizationId)} and o.created_at = t.created_at and o.id = t.id)`;
    const { rows } = await target.query<{ missing: number }>({
      text: `
  select count(*) as missing from theirs t
   where case when is_event then ${lacks('events')} else ${lacks('audit_log')} end`,
    });
    return rows[0]!.missing;
  }, true);
}
