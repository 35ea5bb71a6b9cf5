import type { Queryable } from './database.js';

type Step = 'seqscan' | 'indexscan' | 'indexonlyscan' | 'hashjoin' | 'mergejoin';

/**
 * Until the transaction ends, keeps PostgreSQL from using these scans and joins, unless there is no other way. Also
 * turns off just-in-time compilation: before PostgreSQL 18, a disabled scan or join that is used anyway makes a plan
 * look so expensive that it is compiled for each execution, which takes up to 0.3 s.
 */
export async function avoidScans(client: Queryable, steps: readonly Step[] = ['seqscan']): Promise<void> {
  const disabled = steps.map((step) => `set local enable_${step} = off`);
  await client.query({ text: ['set local jit = off', ...disabled].join('; ') });
}

/** Returns the database's current time, in milliseconds. */
export async function readClockMs(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ at: Date }>({ text: 'select clock_timestamp() as at' });
  return rows[0]!.at.getTime();
}
