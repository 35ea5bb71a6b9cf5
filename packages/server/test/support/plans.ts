import pg from 'pg';
import { expect } from 'vitest';

interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

interface Statement {
  text: string;
  values: unknown[];
}

/**
 * The limit's own sub-select is the result; partitions that follow each other in time are appended. The sizes of what was
 * read may be added up, and it may be put together into one text.
 */
const usual = ['Limit', 'Result', 'Append', 'Subquery Scan', 'WindowAgg', 'Aggregate'];

/** The page is read by scans of this index of each partition, in its order, and nothing else. */
export async function expectOrderedScan(
  client: pg.Client,
  statement: Statement,
  index: string,
  asked: unknown,
): Promise<void> {
  for (const [kind, plan] of Object.entries(await plansOf(client, statement))) {
    const nodes = nodesOf(plan).map(nameOf);
    const place = `${kind} plan of ${JSON.stringify(asked)}`;
    expect(nodes, place).toContain(`Index Scan ${index}`);
    expect(
      nodes.filter((name) => !usual.includes(name) && name !== `Index Scan ${index}`),
      place,
    ).toEqual([]);
  }
}

/** The plan for these very values, and the one that a prepared statement settles for after some uses. */
async function plansOf(client: pg.Client, { text, values }: Statement) {
  const literals = values.map((value) =>
    pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value)),
  );
  const custom = await client.query(`explain (format json) ${text}`, values);
  const name = await prepare(client, text);
  const [, generic] = (await client.query(
    `set plan_cache_mode = force_generic_plan;
     explain (format json) execute ${name} (${literals.join(', ')});
     reset plan_cache_mode`,
  )) as unknown as pg.QueryResult[];
  return { custom: rootOf(custom), generic: rootOf(generic!) };
}

const prepared = new WeakMap<pg.Client, Map<string, string>>();

/** Prepares a statement once, because PostgreSQL keeps its generic plan for all values. Returns its name. */
async function prepare(client: pg.Client, text: string): Promise<string> {
  const names = prepared.get(client) ?? new Map<string, string>();
  prepared.set(client, names);
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `page_${names.size}`;
  await client.query(`prepare ${name} as ${text}`);
  names.set(text, name);
  return name;
}

export function rootOf({ rows }: pg.QueryResult): PlanNode {
  return rows[0]['QUERY PLAN'][0].Plan;
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function nameOf(node: PlanNode): string {
  const index = node['Index Name']?.replace(/^[a-z_]+_\d{8}_/, '');
  return index === undefined ? node['Node Type'] : `${node['Node Type']} ${index}`;
}
