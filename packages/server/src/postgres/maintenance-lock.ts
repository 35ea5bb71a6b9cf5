import { allowPauses, type Database } from './database.js';

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
