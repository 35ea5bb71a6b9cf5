import type { Database } from './database.js';

/**
 * Does `work` unless another node is at it; says whether it did. The lock belongs to a transaction that does
 * nothing else, so it ends with its connection whatever becomes of this process. `work` uses other
 * connections.
 */
export async function withMaintenanceLock(database: Database, work: () => Promise<void>): Promise<boolean> {
  return database.transaction(async (client) => {
    const { rows } = await client.query<{ held: boolean }>({
      text: "select pg_try_advisory_xact_lock(hashtextextended('posthorn.maintenance', 0)) as held",
    });
    const held = rows[0]?.held === true;
    if (held) await work();
    return held;
  });
}
