import type { Queryable } from './database.js';

/** Tables whose partitions are created ahead of time. A writer creates a missing one itself. */
export const partitioned = ['events', 'deliveries', 'delivery_counts', 'event_counts', 'audit_log'] as const;
export type Partitioned = (typeof partitioned)[number];

/** Each weekly partition exists at least a week before it is needed. */
export const daysAhead = 14;

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
