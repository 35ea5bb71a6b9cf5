import { dayMs } from '../domain/duration.js';
import type { Database, Queryable } from './database.js';

/** Tables whose partitions are created ahead. A writer creates a missing one itself. */
export const partitioned = ['events', 'deliveries', 'delivery_counts', 'event_counts', 'audit_log'] as const;
export type Partitioned = (typeof partitioned)[number];

/** Each weekly partition exists at least a week before it is needed. */
const daysAhead = 14;

/** Creates the partitions for now and the next days. */
export async function makePartitionsAhead(database: Queryable, nowMs: number): Promise<void> {
  const days = Array.from({ length: daysAhead / 7 + 1 }, (_, weeks) => isoDate(nowMs + weeks * 7 * dayMs));
  for (const parent of partitioned) {
    for (const day of days) {
      // One transaction each, so that the lock is held only briefly.
      await database.query({ text: 'select posthorn.ensure_partition($1, $2)', values: [parent, day] });
    }
  }
}

const isoDate = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Drops partitions without rows from `keepFrom` on, and returns their names. */
export async function dropPartitions(
  database: Database,
  parent: Partitioned,
  keepFrom: Date,
  present: Date,
): Promise<readonly string[]> {
  // Without a time limit: finding the last entry of many chains may take long.
  return database.transaction(async (client) => {
    const { rows } = await client.query<{ name: string }>({
      text: 'select name from posthorn.drop_partitions($1, $2, $3) as name',
      values: [parent, keepFrom, present],
    });
    return rows.map(({ name }) => name);
  }, true);
}
