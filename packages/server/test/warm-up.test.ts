import { pino } from 'pino';
import { expect, test } from 'vitest';
import { readConfig } from '../src/settings/config.js';
import { warmUp, warmUpConnections } from '../src/warm-up.js';
import { freshDatabase } from './support/database.js';
import { Log } from './support/log.js';

test('a process warms up without a database: every event passes through to a receiver, and nothing is logged', async () => {
  const log = new Log();
  const limits = { events: 40, ms: 60_000 };
  expect(await warmUp(readConfig({}), pino({}, log), limits)).toBe(limits.events);
  expect(log.lines).toEqual([]);
});

test('a process that cannot warm up says why, and starts anyway', async () => {
  const log = new Log();
  const config = readConfig({});
  const broken = Object.defineProperty(config, 'trustedProxies', {
    get: () => {
      throw new Error('no proxies today');
    },
    enumerable: true,
  });
  expect(await warmUp(broken, pino({}, log))).toBe(0);
  expect(log.warnings).toEqual(['this process could not warm up; its first requests take longer']);
});

test('connections are warmed up by recording nothing', async () => {
  const { database } = await freshDatabase();
  await warmUpConnections(database);
  expect(database.use).toMatchObject({ inUse: 0, idle: 4 });
  const { rows } = await database.query({ text: 'select from posthorn.events' });
  expect(rows).toEqual([]);
});
