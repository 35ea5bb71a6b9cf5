import { pipeline } from 'node:stream/promises';
import { escapeLiteral } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { type OrganizationMove, requireState, servesOrganization } from '../cells/relocation-store.js';
import { allowPauses, type Database, type Queryable, type Transaction } from '../postgres/database.js';
import { avoidScans } from '../postgres/transaction.js';

/** A table whose rows are copied from one database to another, page by page in the order of its primary key. */
export interface CopiedTable {
  name: string;
  /** The primary key after the organization: names and types of the columns. */
  key: readonly (readonly [name: string, type: string])[];
  /** The column that determines the partition, if the table has partitions. */
  partitionedBy?: string;
  /**
   * Whether a row that already exists is replaced, or an SQL condition on the existing row `t` and the new row `p` that
   * decides this. If absent, the row stays: its content never changes.
   */
  replaces?: boolean | string;
}

/** A condition on the rows `t`. Its parameters start at `$2`. */
export interface RowCondition {
  text: string;
  values: readonly unknown[];
}

/** What to do with each page. */
export interface CopySteps {
  /**
   * The state of the organization in the database `to`. With 'here', nothing is copied if the organization no
   * longer lives there. Default: arriving.
   */
  state?: 'arriving' | 'here';
  /** The last step of the page's transaction. */
  then?: ((client: Queryable) => Promise<unknown>) | undefined;
  /** Called after the commit, with the number of rows. */
  onPage?: (rows: number) => void;
}

/** Rows are streamed, so only the length of a transaction depends on this. */
const rowsMax = 5_000;

/**
 * Makes this transaction read and write times, numbers and bytes in a form that does not depend on the settings of the
 * database, and avoid sequential scans.
 */
export async function useCopySettings(client: Queryable): Promise<void> {
  await client.query({
    text: `set local timezone = 'UTC'; set local datestyle = 'ISO'; set local bytea_output = 'hex';
           set local extra_float_digits = 1`,
  });
  await avoidScans(client);
}

/**
 * Copies the rows of an organization that match the condition. Each page is a transaction of its own in the database
 * `to`. While the organization is arriving, a page fails if another process has taken over the move.
 */
export async function copyRows(
  from: Database,
  to: Database,
  move: OrganizationMove,
  table: CopiedTable,
  condition: RowCondition,
  { onPage, then, state = 'arriving' }: CopySteps = {},
): Promise<void> {
  let after: readonly string[] = [];
  for (;;) {
    const page = await to.transaction(async (client) => {
      if (state === 'arriving') await requireState(client, move, state);
      else if (!(await servesOrganization(client, move.organizationId))) return { rows: 0, last: [] };
      await useCopySettings(client);
      const rows = await receiveRows(
        from,
        client,
        table,
        pageOf(table, move.organizationId, condition, after),
      );
      if (rows === 0) return { rows, last: [] };
      await insertRows(client, table);
      await then?.(client);
      return { rows, last: await lastKey(client, table) };
    }, true);
    if (page.rows > 0) onPage?.(page.rows);
    if (page.rows < rowsMax) return;
    after = page.last;
  }
}

/** Returns the statement that reads the rows after the key `after`, in the order of the key. */
function pageOf(
  { name, key }: CopiedTable,
  organizationId: string,
  condition: RowCondition,
  after: readonly string[],
): string {
  const columns = key.map(([column]) => `t.${column}`).join(', ');
  const first = condition.values.length + 2;
  const position = key.map(([, type], index) => `$${first + index}::${type}`).join(', ');
  const text = `
  select * from posthorn.${name} t
   where t.organization_id = $1 and ${condition.text}
     ${after.length > 0 ? `and (${columns}) > (${position})` : ''}
   order by ${columns}
   limit ${rowsMax}`;
  // A `copy` statement cannot have parameters.
  const values = [organizationId, ...condition.values, ...after];
  return text.replace(/\$(\d+)/g, (_, number) => escapeLiteral(String(values[Number(number) - 1])));
}

/**
 * Copies the rows to a table `page` that lasts as long as the transaction. Returns how many there are. Both
 * transactions may pause, because they wait for each other.
 */
async function receiveRows(
  from: Database,
  client: Transaction,
  { name }: CopiedTable,
  select: string,
): Promise<number> {
  await allowPauses(client);
  await client.query({ text: `create temp table page (like posthorn.${name}) on commit drop` });
  return from.transaction(async (source) => {
    await allowPauses(source);
    await useCopySettings(source);
    const received = client.stream(copyFrom('copy page from stdin'));
    await pipeline(source.stream(copyTo(`copy (${select}) to stdout`)), received);
    return received.rowCount;
  }, true);
}

/** Inserts the rows of the `page` table, and creates the partitions that they need. */
async function insertRows(
  client: Queryable,
  { name, key, partitionedBy, replaces }: CopiedTable,
): Promise<void> {
  if (partitionedBy !== undefined) {
    await client.query({
      text: `
  select posthorn.ensure_partition($1, day)
    from (select distinct (${partitionedBy} at time zone 'UTC')::date as day from page) days`,
      values: [name],
    });
  }
  if (replaces) {
    const columns = ['organization_id', ...key.map(([column]) => column)];
    const columnsOf = (alias: string) => columns.map((column) => `${alias}.${column}`).join(', ');
    const condition = replaces === true ? '' : `and ${replaces}`;
    await client.query({
      text: `
  delete from posthorn.${name} t
   using page p
   where (${columnsOf('t')}) = (${columnsOf('p')}) ${condition}`,
    });
  }
  await client.query({
    text: `insert into posthorn.${name} select * from page on conflict do nothing`,
  });
}

async function lastKey(client: Queryable, { key }: CopiedTable): Promise<readonly string[]> {
  const { rows } = await client.query<{ last: string[] }>({
    text: `
  select array[${key.map(([column]) => `${column}::text`).join(', ')}] as last
    from page
   order by ${key.map(([column]) => `${column} desc`).join(', ')}
   limit 1`,
  });
  return rows[0]?.last ?? [];
}
