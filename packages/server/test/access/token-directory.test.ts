import { expect, test } from 'vitest';
import { TokenDirectory } from '../../src/access/auth.js';
import { newTokenText } from '../../src/access/token.js';
import { touchTokens } from '../../src/access/token-store.js';
import type { Database } from '../../src/postgres/database.js';
import { freshDatabase } from '../support/database.js';
import { makeToken } from '../support/service.js';
import { eventually } from '../support/tenant.js';

test('a token that was valid stays known while the database is unreachable, and one never seen does not become known', async () => {
  const { database } = await freshDatabase();
  let isReachable = true;
  const unsteady = {
    query: (statement: Parameters<Database['query']>[0]) =>
      isReachable ? database.query(statement) : Promise.reject(new Error('unreachable')),
  };
  let nowMs = Date.now();
  const tokens = new TokenDirectory(unsteady as Database, () => nowMs, undefined);
  const [valid, other] = [await makeToken(database), newTokenText()];
  expect(await tokens.allows(valid)).toBe(true);

  isReachable = false;
  nowMs += 2_000;
  for (const token of [valid, other]) await expect(tokens.find(token)).rejects.toThrow('unreachable');
  expect([tokens.knows(valid), tokens.knows(other)]).toEqual([true, false]);

  isReachable = true;
  expect(await tokens.allows(valid)).toBe(true);
});

test('a revoked token is refused within a second even if the clock is set back', async () => {
  const { database } = await freshDatabase();
  let nowMs = Date.now();
  const tokens = new TokenDirectory(database, () => nowMs, undefined);
  const token = await makeToken(database);
  expect(await tokens.allows(token)).toBe(true);
  await database.query({ text: 'update posthorn.tokens set revoked_at = created_at' });
  expect(await tokens.allows(token)).toBe(true);
  nowMs -= 3_600_000;
  expect(await tokens.allows(token)).toBe(false);
});

test('the time of last use that could not be written is written the next time', async () => {
  const { database } = await freshDatabase();
  let isReachable = true;
  const unsteady = {
    query: (statement: Parameters<Database['query']>[0]) =>
      isReachable ? database.query(statement) : Promise.reject(new Error('unreachable')),
  };
  const nowMs = Date.now();
  const tokens = new TokenDirectory(unsteady as Database, () => nowMs, undefined);
  await tokens.find(await makeToken(database));
  isReachable = false;
  await expect(tokens.flush()).rejects.toThrow('unreachable');
  isReachable = true;
  await tokens.flush();
  const { rows } = await database.query({ text: 'select last_used_at from posthorn.tokens' });
  expect(rows).toEqual([{ last_used_at: new Date(nowMs) }]);
});

test('nodes that write last uses of the same tokens in different orders do not block each other', async () => {
  const { database } = await freshDatabase();
  const used = (...ids: string[]) => new Map(ids.map((id) => [id, new Date()]));
  for (const id of ['TOK-2', 'TOK-1']) await makeToken(database, { id });
  const { other } = await database.transaction(async (client) => {
    await touchTokens(client, used('TOK-1'));
    const other = touchTokens(database, used('TOK-2', 'TOK-1'));
    await eventually(
      () =>
        database.query({
          text: "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        }),
      ({ rowCount }) => rowCount === 1,
    );
    await touchTokens(client, used('TOK-2'));
    return { other };
  });
  await other;
});
