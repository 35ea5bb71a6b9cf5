import { expect, test } from 'vitest';
import { newTokenText } from '../../src/domain/token.js';
import { TokenDirectory } from '../../src/http/auth.js';
import type { Database } from '../../src/storage/database.js';
import { freshDatabase } from '../support/database.js';
import { makeToken } from '../support/service.js';

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
