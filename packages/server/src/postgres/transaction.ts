import { allowPauses, type Database, type Queryable } from './database.js';

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

/**
 * Runs `work` unless another node is running it. Returns whether it ran. A separate transaction holds the lock, so the
 * lock ends with the connection even if this process dies. `work` uses other connections.
 */
export async function withMaintenanceLock(database: Database, work: () => Promise<void>): Promise<boolean> {
  return database.transaction(async (client) => {
    const { rows } = await client.query<{ held: boolean }>({
      text: "select pg_try_advisory_xact_lock(hashtextextended('posthorn.maintenance', 0)) as held",
    });
    const held = rows[0]?.held === true;
    // The transaction has nothing to do while `work` runs.
    if (held) await allowPauses(client);
    if (held) await work();
    return held;
  });
}

/** Returns the database's current time, in milliseconds. */
export async function readClockMs(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ at: Date }>({ text: 'select clock_timestamp() as at' });
  return rows[0]!.at.getTime();
}
