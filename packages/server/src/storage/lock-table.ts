import type { Queryable } from './database.js';

/**
 * A statement that is planned over 90 days of partitions holds a lock for each of them and its indexes, some
 * 700 for a moment. Most of a node's connections may do so at once.
 */
const locksPerNode = 10 * 700;

/** What to tell an operator whose server has too little room for locks; undefined where it has enough. */
export async function adviceOnLocks(database: Queryable): Promise<string | undefined> {
  const { rows } = await database.query<{ room: number; per_transaction: number }>({
    text: `
  select current_setting('max_locks_per_transaction')::int as per_transaction,
         current_setting('max_locks_per_transaction')::int
           * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) as room`,
  });
  const { room, per_transaction } = rows[0]!;
  // Two nodes, and as much again for everybody else.
  const wanted = 2 * 2 * locksPerNode;
  if (room >= wanted) return undefined;
  const setting = Math.ceil((per_transaction * wanted) / room / 64) * 64;
  return (
    `PostgreSQL has room for ${room} locks, and a busy node can need ${locksPerNode} once there are 90 days of ` +
    `partitions: set max_locks_per_transaction to ${setting} (it is ${per_transaction}) and restart the server`
  );
}
