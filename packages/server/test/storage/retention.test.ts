import { expect, test } from 'vitest';
import { dayMs } from '../../src/domain/duration.js';
import { recordEvents } from '../../src/storage/events.js';
import { dropPartitions, makePartitionsAhead } from '../../src/storage/partitions.js';
import { freshDatabase } from '../support/database.js';

const { database } = await freshDatabase();

const partitions = async () => {
  const { rows } = await database.query<{ name: string }>({
    text: `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
            where i.inhparent = 'posthorn.events'::regclass order by 1`,
  });
  return rows.map(({ name }) => name);
};
const partitionOf = (ms: number) => `events_${new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')}`;

test('a day is dropped once all of it is older than 90 days, and not before', async () => {
  const nowMs = Date.now();
  await makePartitionsAhead(database, nowMs);
  const today = partitionOf(nowMs);
  expect(await partitions()).toContain(today);
  const endOfToday = (Math.floor(nowMs / dayMs) + 1) * dayMs;
  await dropPartitions(database, new Date(endOfToday - 1));
  expect(await partitions()).toContain(today);
  const dropped = await dropPartitions(database, new Date(endOfToday));
  expect(dropped).toContain(today);
  expect(await partitions()).not.toContain(today);
});

test('recording makes a partition that is missing', async () => {
  const nowMs = Date.now();
  await dropPartitions(database, new Date(nowMs + 30 * dayMs));
  expect(await partitions()).toEqual([]);
  await recordEvents({ query: (text, values) => database.query({ text, values }) }, [
    {
      type: 'invoice.paid',
      organization_id: 'ORG-acme',
      actor: { type: 'user', id: 'USR-ada' },
      subject: { type: 'invoice', id: 'INV-1' },
      payload: {},
    },
  ]);
  expect(await partitions()).toEqual([partitionOf(nowMs)]);
});
