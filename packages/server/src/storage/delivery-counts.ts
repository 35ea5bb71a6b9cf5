import type { DeliveryCounts } from '../domain/delivery-counts.js';
import { arrayText } from './array-text.js';
import type { Queryable } from './database.js';

/** The lengths of the counted periods, in minutes. */
export type Step = 1 | 60;

/** What one process counted for a webhook, a workspace or an organization in a minute or an hour. */
export interface CountedDeliveries extends DeliveryCounts {
  organization_id: string;
  /** The webhook, the workspace, or '' for the whole organization. */
  scope: string;
  step: Step;
  atMs: number;
  part: number;
}

/** Writes counts in one statement. Replaces what the same part wrote before. */
export async function writeDeliveryCounts(
  database: Queryable,
  rows: readonly CountedDeliveries[],
): Promise<void> {
  if (rows.length === 0) return;
  const column = (read: (row: CountedDeliveries) => number | string) => arrayText(rows, read);
  await database.query({
    name: 'count deliveries',
    text: 'select posthorn.count_deliveries($1, $2, $3, $4, $5, $6, $7, $8, $9)',
    values: [
      column((row) => row.organization_id),
      column((row) => row.scope),
      column((row) => row.step),
      column((row) => row.atMs),
      column((row) => row.part),
      column((row) => row.delivered),
      column((row) => row.failed_attempts),
      column((row) => row.given_up),
      column((row) => `{${row.latencies.join(',')}}`),
    ],
  });
}

export interface CountsQuery {
  organization_id: string;
  scope: string;
  fromMs: number;
  /** Exclusive. */
  toMs: number;
}

/** Reads counts with their times, one row for each process that counted. */
export async function readDeliveryCounts(
  database: Queryable,
  query: CountsQuery,
  step: Step,
): Promise<readonly (DeliveryCounts & { atMs: number })[]> {
  const { rows } = await database.query<Omit<DeliveryCounts, 'latencies'> & { at: Date; latencies: string }>({
    name: 'delivery counts',
    text: `
  select at, delivered, failed_attempts, given_up, latencies::text as latencies
    from posthorn.delivery_counts
   where organization_id = $1 and scope = $2 and step = $3 and at >= $4 and at < $5`,
    values: [query.organization_id, query.scope, step, new Date(query.fromMs), new Date(query.toMs)],
  });
  return rows.map(({ at, latencies, ...counts }) => ({
    ...counts,
    atMs: at.getTime(),
    latencies: latencies === '{}' ? [] : latencies.slice(1, -1).split(',').map(Number),
  }));
}
