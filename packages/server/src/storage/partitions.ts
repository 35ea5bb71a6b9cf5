import { dayMs } from '../domain/duration.js';
import type { Queryable } from './database.js';

/** Parents whose partitions are made ahead; the recording function makes a missing one itself. */
const partitioned = ['events', 'deliveries'] as const;
const daysAhead = 7;

/** Makes the partitions of today and the days after it. */
export async function makePartitionsAhead(database: Queryable, nowMs: number): Promise<void> {
  const days = Array.from({ length: daysAhead + 1 }, (_, ahead) => isoDate(nowMs + ahead * dayMs));
  for (const parent of partitioned) {
    for (const day of days) {
      // One transaction a partition: its lock is held for a moment only.
      await database.query({ text: 'select posthorn.ensure_partition($1, $2)', values: [parent, day] });
    }
  }
}

const isoDate = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Drops whole days that ended before `keepFrom`; answers the names of what went. */
export async function dropPartitions(database: Queryable, keepFrom: Date): Promise<readonly string[]> {
  const dropped: string[] = [];
  for (const parent of partitioned) {
    const { rows } = await database.query<{ name: string }>({
      text: 'select name from posthorn.drop_partitions($1, $2) as name',
      values: [parent, keepFrom],
    });
    dropped.push(...rows.map(({ name }) => name));
  }
  return dropped;
}
