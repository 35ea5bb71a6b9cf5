import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { Queryable } from '../../src/postgres/database.js';

interface PlanNode {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  Plans?: PlanNode[];
}

const settings = [
  "load 'auto_explain'",
  ...['log_min_duration = 0', 'log_nested_statements = on', 'log_analyze = on', 'log_timing = off'].map(
    (setting) => `set auto_explain.${setting}`,
  ),
  'set auto_explain.log_format = json',
  'set client_min_messages = log',
].join(';');

/**
 * A connection that notes the plans of what it runs, and of the statements in the functions that it calls. It ends with
 * the test.
 */
export class ExplainedClient implements Queryable {
  readonly #client: pg.Client;
  readonly #plans: PlanNode[] = [];

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on('notice', ({ message = '' }) => {
      const start = message.indexOf('{');
      if (/^duration: .* plan:/.test(message)) this.#plans.push(JSON.parse(message.slice(start)).Plan);
    });
  }

  static async open(url: string): Promise<ExplainedClient> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query(settings);
    return new ExplainedClient(client);
  }

  query: Queryable['query'] = (statement) => this.#client.query(statement);

  /** Returns how many rows the step that read most has read, with those that it did not use. */
  rowsReadMax(): number {
    return Math.max(...this.#plans.flatMap(stepsOf).map(rowsReadBy));
  }
}

function stepsOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(stepsOf)];
}

function rowsReadBy(step: PlanNode): number {
  const unused = (step['Rows Removed by Filter'] ?? 0) + (step['Rows Removed by Join Filter'] ?? 0);
  return (step['Actual Rows'] + unused) * step['Actual Loops'];
}
