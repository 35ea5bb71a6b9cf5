import type { Order, Position } from '../values/cursor.js';

/** A table whose rows are read in pages for one organization, in the order of (`created_at`, `id`). */
export interface PagedTable<Column extends string> {
  name: string;
  columns: string;
  /** Columns to filter by. Each has its own index. */
  equalities: readonly Column[];
}

/** The filters of a page. Times are inclusive. */
export type PageFilter<Column extends string> = {
  organization_id: string;
  fromMs: number;
  toMs?: number | undefined;
} & { [column in Column]?: string | undefined };

export interface Page<Row> {
  rows: readonly Row[];
  hasMore: boolean;
  /** Where the next page starts; undefined only on an empty descending page. */
  next: Position | undefined;
}

/**
 * Returns the statement for one page, which starts after `after`. It contains only the given filters: with
 * `$1 is null or …` the planner could not choose the index of a filter. The columns can refer to `bound`, from `$4`.
 */
export function pageStatement<Column extends string>(
  table: PagedTable<Column>,
  filter: PageFilter<Column>,
  order: Order,
  after: Position | undefined,
  limit: number,
  bound: readonly unknown[] = [],
): { name: string; text: string; values: unknown[] } {
  const values: unknown[] = [filter.organization_id, new Date(filter.fromMs), limit, ...bound];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const given = table.equalities.filter((column) => filter[column] !== undefined);
  const conditions = given.map((column) => `and ${column} = ${bind(filter[column])}`);
  if (filter.toMs !== undefined) conditions.push(`and created_at <= ${bind(new Date(filter.toMs))}`);
  if (after) {
    const [at, id] = [bind(new Date(after.atMs)), bind(after.id)];
    const beyond = order === 'asc' ? '>' : '<';
    // The bound on created_at repeats the row comparison in a form that lets PostgreSQL prune partitions.
    conditions.push(`and created_at ${beyond}= ${at} and (created_at, id) ${beyond} (${at}, ${id})`);
  }
  // The subquery hides the limit from the planner. A planner that knows the limit and expects few matches
  // sorts a bitmap of all matches, but after a bulk load its estimate can be wrong by a factor of thousands.
  // With a hidden limit, it assumes that a tenth of the rows is needed and reads the filter's index in order.
  const text = `
  select ${table.columns}
    from posthorn.${table.name}
   where organization_id = $1 and created_at >= $2
         ${conditions.join('\n         ')}
   order by created_at ${order}, id ${order}
   limit (select $3::int)`;
  // PostgreSQL truncates names to 63 characters, which could give two statements the same name.
  const filters = given.map((column) => table.equalities.indexOf(column)).join('');
  const range = `${filter.toMs === undefined ? '' : ' to'}${after ? ' after' : ''}`;
  return { name: `${table.name} ${order} ${filters}${range}`, text, values };
}

/** Returns the page for rows that were read with a limit of `limit` + 1, which shows whether there are more. */
export function pageOf<Row extends { created_at: Date; id: string }>(
  rows: readonly Row[],
  limit: number,
): Page<Row> {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const next = last && { atMs: last.created_at.getTime(), id: last.id };
  return { rows: page, hasMore: rows.length > page.length, next };
}
