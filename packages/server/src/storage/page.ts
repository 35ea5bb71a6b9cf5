import type { Order, Position } from '../domain/page.js';

/** A table whose rows are read in pages, in the order of (`created_at`, `id`), for one organization. */
export interface PagedTable<Column extends string> {
  name: string;
  columns: string;
  /** What a page can be narrowed to, each with an index of its own. */
  equalities: readonly Column[];
}

/** What a page is narrowed to. Times are inclusive. */
export type PageFilter<Column extends string> = {
  organization_id: string;
  fromMs: number;
  toMs?: number | undefined;
} & { [column in Column]?: string | undefined };

export interface Page<Row> {
  rows: readonly Row[];
  hasMore: boolean;
  /** Where to go on; undefined only on an empty descending page. */
  next: Position | undefined;
}

/**
 * One page, strictly behind `after`. Only the given filters appear in the statement: with `$1 is null or …`
 * the planner could not pick the filter's index.
 */
export function pageStatement<Column extends string>(
  table: PagedTable<Column>,
  filter: PageFilter<Column>,
  order: Order,
  after: Position | undefined,
  limit: number,
): { name: string; text: string; values: unknown[] } {
  const values: unknown[] = [filter.organization_id, new Date(filter.fromMs), limit];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const given = table.equalities.filter((column) => filter[column] !== undefined);
  const conditions = given.map((column) => `and ${column} = ${bind(filter[column])}`);
  if (filter.toMs !== undefined) conditions.push(`and created_at <= ${bind(new Date(filter.toMs))}`);
  if (after) {
    const [at, id] = [bind(new Date(after.atMs)), bind(after.id)];
    const beyond = order === 'asc' ? '>' : '<';
    // The plain bound on created_at repeats the row comparison in a form that prunes partitions.
    conditions.push(`and created_at ${beyond}= ${at} and (created_at, id) ${beyond} (${at}, ${id})`);
  }
  // A limit that the planner does not know: with the number it sorts a bitmap of all matches wherever it
  // takes them for few, which after a bulk load is wrong by a factor of thousands. Without it, it counts
  // on a tenth of them and walks the index of the filter in order.
  const text = `
  select ${table.columns}
    from posthorn.${table.name}
   where organization_id = $1 and created_at >= $2
         ${conditions.join('\n         ')}
   order by created_at ${order}, id ${order}
   limit (select $3::int)`;
  // PostgreSQL keeps 63 characters of a name; cut off, two statements could have the same.
  const filters = given.map((column) => table.equalities.indexOf(column)).join('');
  const range = `${filter.toMs === undefined ? '' : ' to'}${after ? ' after' : ''}`;
  return { name: `${table.name} ${order} ${filters}${range}`, text, values };
}

/** Returns the page of rows that were read one further than `limit`, to see whether there is more. */
export function pageOf<Row extends { created_at: Date; id: string }>(
  rows: readonly Row[],
  limit: number,
): Page<Row> {
  return pageBy(({ created_at, id }) => ({ atMs: created_at.getTime(), id }), rows, limit);
}

/** The same for rows of any form. */
export function pageBy<Row>(
  positionOf: (row: Row) => Position,
  rows: readonly Row[],
  limit: number,
): Page<Row> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    rows: shown,
    hasMore: rows.length > limit,
    next: last === undefined ? undefined : positionOf(last),
  };
}
