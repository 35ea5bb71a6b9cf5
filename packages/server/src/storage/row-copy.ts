import type { Database, Queryable } from './database.js';
import { ensurePartitions, partitioned } from './partitions.js';
import { type Move, requireState } from './relocations.js';

/** A table whose rows are copied from one database to another, page by page in the order of its primary key. */
export interface CopiedTable {
  name: string;
  /** The primary key after the organization: names and types of the columns. */
  key: readonly (readonly [name: string, type: string])[];
  /** The column that determines the partition, if the table has partitions. */
  partitionedBy?: string;
  /** Whether a row that already exists is replaced. If not, it stays: its content never changes. */
  replaces?: boolean;
}

/** A condition on the rows `t`. Its parameters start at `$2`. */
export interface Condition {
  text: string;
  values: readonly unknown[];
}

/** What to do with each page. */
export interface CopySteps {
  /** The state of the organization in the database `to`. Default: arriving. */
  state?: 'arriving' | 'here';
  /** The last step of the page's transaction. */
  then?: ((client: Queryable) => Promise<unknown>) | undefined;
  /** Called after the commit, with the number of rows. */
  onPage?: (rows: number) => void;
}

const rowsMax = 1_000;
const bytesMax = 8 * 1024 * 1024;

interface Page {
  /** The rows as text, which keeps every value as it is. */
  contents: string[];
  /** The key of the last row. */
  last: string[];
  days: number[];
}

/**
 * Sets the formats of this transaction, so that another database can read its times, numbers and bytes whatever its
 * settings.
 */
export async function writePlainly(client: Queryable): Promise<void> {
  await client.query({
    text: `set local timezone = 'UTC'; set local datestyle = 'ISO'; set local bytea_output = 'hex';
           set local extra_float_digits = 1; set local enable_seqscan = off`,
  });
}

/**
 * Copies the rows of an organization that match the condition. Each page is a transaction of its own in the database
 * `to`, and fails if another process has taken over the move.
 */
export async function copyRows(
  from: Database,
  to: Database,
  move: Move,
  table: CopiedTable,
  condition: Condition,
  { onPage, then, state = 'arriving' }: CopySteps = {},
): Promise<void> {
  let after: string[] | undefined;
  for (;;) {
    const page = await readPage(from, move.organizationId, table, condition, after);
    if (page.contents.length === 0) return;
    await to.transaction(async (client) => {
      if (state === 'arriving') await requireState(client, move, state);
      await insertRows(client, table, page.contents, page.days);
      await then?.(client);
    }, true);
    after = page.last;
    onPage?.(page.contents.length);
  }
}

async function readPage(
  database: Database,
  organizationId: string,
  { name, key, partitionedBy }: CopiedTable,
  condition: Condition,
  after: readonly string[] | undefined,
): Promise<Page> {
  const values = [organizationId, ...condition.values, ...(after ?? [])];
  const columns = key.map(([column]) => `t.${column}`).join(', ');
  const first = condition.values.length + 2;
  const position = key.map(([, type], index) => `$${first + index}::${type}`).join(', ');
  const day = partitionedBy === undefined ? 'null' : `extract(epoch from t.${partitionedBy}) * 1000`;
  const statement = {
    text: `
  select content, last, day
    from (select p.*, sum(octet_length(p.content)) over (order by p.n) - octet_length(p.content) as before
            from (select t::text as content, array[${key.map(([column]) => `t.${column}::text`).join(', ')}] as last,
                         ${day} as day, row_number() over (order by ${columns}) as n
                    from (select * from posthorn.${name} t
                           where t.organization_id = $1 and ${condition.text}
                             ${after ? `and (${columns}) > (${position})` : ''}
                           order by ${columns}
                           limit ${rowsMax}) t) p) s
   where before < ${bytesMax}
   order by n`,
    values,
  };
  const rows = await database.transaction(async (client) => {
    await writePlainly(client);
    return (await client.query<{ content: string; last: string[]; day: string | null }>(statement)).rows;
  }, true);
  return {
    contents: rows.map(({ content }) => content),
    last: rows.at(-1)?.last ?? [],
    days: partitionedBy === undefined ? [] : rows.map(({ day }) => Number(day)),
  };
}

/** Inserts rows that were read as text. `times` are the values that determine the partitions. */
async function insertRows(
  client: Queryable,
  { name, key, replaces }: CopiedTable,
  contents: readonly string[],
  times: readonly number[],
): Promise<void> {
  const parent = partitioned.find((each) => each === name);
  if (parent) await ensurePartitions(client, parent, times);
  if (replaces) {
    const columns = ['organization_id', ...key.map(([column]) => column)];
    await client.query({
      text: `
  delete from posthorn.${name} t
   where (${columns.map((column) => `t.${column}`).join(', ')}) in (
           select ${columns.map((column) => `n.${column}`).join(', ')} from unnest($1::posthorn.${name}[]) n)`,
      values: [contents],
    });
  }
  await client.query({
    text: `insert into posthorn.${name} select * from unnest($1::posthorn.${name}[]) on conflict do nothing`,
    values: [contents],
  });
}
