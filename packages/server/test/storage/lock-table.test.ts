import { expect, test } from 'vitest';
import { adviceOnLocks } from '../../src/storage/lock-table.js';
import { freshDatabase } from '../support/database.js';

/** A server with these settings, as far as the question goes. */
const serverWith = (per_transaction: number, connections: number) => ({
  query: async () => ({
    rows: [{ per_transaction, room: per_transaction * connections }] as never[],
    rowCount: 1,
  }),
});

test('an operator is told what to set where the server has room for few locks', async () => {
  expect(await adviceOnLocks(serverWith(64, 100))).toMatch(/room for 6400 locks.* to 320 \(it is 64\)/);
  expect(await adviceOnLocks(serverWith(320, 100))).toBeUndefined();
});

test('the question can be asked of every PostgreSQL', async () => {
  const { database } = await freshDatabase();
  const advice = await adviceOnLocks(database);
  expect(advice === undefined || advice.includes('max_locks_per_transaction')).toBe(true);
});
