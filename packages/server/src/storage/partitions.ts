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
