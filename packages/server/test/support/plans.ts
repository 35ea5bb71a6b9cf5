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

/** Checks the plans of pages. Make another one after the statistics have changed. */
export class PagePlans {
  readonly #client: pg.Client;
  /** The statements whose generic plan was checked: it is the same for all values. */
  readonly #checked = new Set<string>();

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Expects that the page is read by scans of this index of each partition, in its order, and nothing else. */
  async expectOrderedScan(statement: Statement, index: string, query: unknown): Promise<void> {
    const expectScans = (kind: string, plan: PlanNode) => {
      const nodes = nodesOf(plan).map(nameOf);
      const place = `${kind} plan of ${JSON.stringify(query)}`;
      expect(nodes, place).toContain(`Index Scan ${index}`);
      expect(
        nodes.filter((name) => !usual.includes(name) && name !== `Index Scan ${index}`),
        place,
      ).toEqual([]);
    };
    expectScans('custom', await this.#customPlan(statement));
    if (this.#checked.has(statement.text)) return;
    this.#checked.add(statement.text);
    expectScans('generic', await this.#genericPlan(statement));
  }

  /** Returns the plan for these very values. */
  async #customPlan({ text, values }: Statement): Promise<PlanNode> {
    return rootOf(await this.#client.query(`explain (format json) ${text}`, values));
  }

  /** Returns the plan that a prepared statement settles for after some uses. */
  async #genericPlan({ text, values }: Statement): Promise<PlanNode> {
    const literals = values.map((value) =>
      pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value)),
    );
    const results = await this.#client.query(
      `set plan_cache_mode = force_generic_plan;
       prepare page as ${text};
       explain (format json) execute page (${literals.join(', ')});
       deallocate page;
       reset plan_cache_mode`,
    );
    return rootOf((results as unknown as pg.QueryResult[])[2]!);
  }
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
