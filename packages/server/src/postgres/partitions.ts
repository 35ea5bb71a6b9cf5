import { dayMs } from '../values/duration.js';
import type { Queryable } from './database.js';

/** Tables whose partitions are created ahead of time. A writer creates a missing one itself. */
export const partitioned = ['events', 'deliveries', 'delivery_counts', 'event_counts', 'audit_log'] as const;
export type Partitioned = (typeof partitioned)[number];

/** Each weekly partition exists at least a week before it is needed. */
export const daysAhead = 14;

/**
 * A statement locks each partition that it may read, and every index of that partition. Events and deliveries have
 * seven indexes each.
 */
export const locksPerPartition = 8;

/** Returns how many locks a statement can take if it reads events or deliveries of the whole retention period. */
export function locksOf(retentionMs: number): number {
  // Includes the current week and the weeks that have been created ahead.
  return locksPerPartition * (Math.ceil(retentionMs / (7 * dayMs)) + 1 + daysAhead / 7);
}

/** Creates the partitions for these times if they are missing. */
export async function ensurePartitions(
  database: Queryable,
  parent: Partitioned,
  times: readonly number[],
): Promise<void> {
  for (const day of new Set(times.map((ms) => new Date(ms).toISOString().slice(0, 10)))) {
    // One statement each: outside a transaction, this holds the lock only briefly.
    await database.query({
      name: 'ensure partition',
      text: 'select posthorn.ensure_partition($1, $2)',
      values: [parent, day],
    });
  }
}
