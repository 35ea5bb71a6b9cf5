import { beforeEach, describe, expect, test } from 'vitest';
import { recordEvents } from '../../src/events/recording-store.js';
import type { Database } from '../../src/postgres/database.js';
import { dropPartitions, makePartitionsAhead } from '../../src/retention/retention-store.js';
import { dayMs } from '../../src/values/time.js';
import { freshDatabase } from '../support/database.js';
import { weekName, weekOf } from '../support/weeks.js';

let database: Database;
beforeEach(async () => {
  ({ database } = await freshDatabase());
});

const partitions = async (parent = 'events') => {
  const { rows } = await database.query<{ name: string }>({
    text: `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
            where i.inhparent = ('posthorn.' || $1)::regclass order by 1`,
    values: [parent],
  });
  return rows.map(({ name }) => name);
};
const partitionOf = (ms: number) => `events_${weekName(ms)}`;

test.each(['events', 'deliveries'] as const)(
  'a week of %s is dropped when all of it is past retention, and not before',
  async (parent) => {
    const nowMs = Date.now();
    await makePartitionsAhead(database, nowMs);
    const thisWeek = `${parent}_${weekName(nowMs)}`;
    const endsMs = weekOf(nowMs) + 7 * dayMs;
    expect(await partitions(parent)).toContain(thisWeek);
    expect(await dropPartitions(database, parent, new Date(endsMs - 1), new Date())).toEqual([]);
    expect(await dropPartitions(database, parent, new Date(endsMs), new Date())).toEqual([thisWeek]);
    expect(await partitions(parent)).not.toContain(thisWeek);
  },
);

test('a week runs from Monday to Sunday, UTC, and has its partition a week before it begins', async () => {
  await makePartitionsAhead(database, Date.parse('2026-11-15T23:59:59.999Z'));
  expect(await partitions()).toEqual(['events_20261109', 'events_20261116', 'events_20261123']);
  for (const [at, partition] of [
    ['2026-11-15T23:59:59.999Z', 'events_20261109'],
    ['2026-11-16T00:00:00.000Z', 'events_20261116'],
    ['2026-11-22T23:59:59.999Z', 'events_20261116'],
    ['2026-11-23T00:00:00.000Z', 'events_20261123'],
  ]) {
    const { rows } = await database.query<{ partition: string }>({
      text: `
  insert into posthorn.events (organization_id, created_at, id, type, actor_type, actor_id, subject_type, subject_id,
                               payload, bytes)
  values ('ORG-acme', $1, 'EVT-1', 'invoice.paid', 'user', 'USR-1', 'invoice', 'INV-1', '{}', 2)
  returning (select c.relname from pg_class c where c.oid = events.tableoid) as partition`,
      values: [at],
    });
    expect(rows).toEqual([{ partition }]);
  }
});

test.each(['events', 'deliveries'])(
  'reading a week of %s takes as many locks as doctor expects',
  async (table) => {
    await makePartitionsAhead(database, Date.now());
    const held = await database.transaction(async (client) => {
      await client.query({ text: `select from posthorn.${table}` });
      return client.query<{ locks: number }>({
        text: `
  select count(*)::int as locks
    from pg_locks l
   where l.pid = pg_backend_pid()
     and l.relation in (select inhrelid from pg_inherits where inhparent = to_regclass('posthorn.' || $1)
                        union all
                        select x.indexrelid from pg_index x join pg_inherits i on i.inhrelid = x.indrelid
                         where i.inhparent = to_regclass('posthorn.' || $1))`,
        values: [table],
      });
    });
    expect(held.rows[0]!.locks).toBe(8 * (await partitions(table)).length);
  },
);

test('recording creates a missing partition', async () => {
  const nowMs = Date.now();
  expect(await partitions()).toEqual([]);
  await recordEvents(database, [
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

describe('the audit log has a partition for each month', () => {
  const drop = (keepFrom: string, present: string) =>
    dropPartitions(database, 'audit_log', new Date(keepFrom), new Date(present));

  beforeEach(async () => {
    await makePartitionsAhead(database, Date.parse('2027-01-28T12:00:00Z'));
    expect(await partitions('audit_log')).toEqual(['audit_log_20270101', 'audit_log_20270201']);
  });

  test('which is dropped when all of it is old', async () => {
    expect(await drop('2027-02-01', '2027-02-15')).toEqual(['audit_log_20270101']);
    expect(await partitions('audit_log')).toEqual(['audit_log_20270201']);
  });

  test('which is dropped earlier if its last entry is already old', async () => {
    const insert = `
  insert into posthorn.audit_log
         (organization_id, created_at, id, position, actor_type, actor_id, action, target_type, target_id, changes, hash)
  select 'ORG-acme', at, 'AUD-' || n, n, 'user', 'USR-1', 'webhook.created', 'webhook', 'WHK-1', '{}', ''
    from (values (1, timestamptz '2027-01-20T12:00:00Z'), (2, '2027-02-10')) entry (n, at)`;
    await database.query({ text: insert });
    expect(await drop('2027-01-20T12:00:00.000Z', '2028-01-20T12:00:00.000Z')).toEqual([]);
    expect(await drop('2027-01-20T12:00:00.001Z', '2028-01-20T12:00:00.001Z')).toEqual([
      'audit_log_20270101',
    ]);
  });

  test('which is never dropped while it can still get entries', async () => {
    expect(await drop('2027-01-31T23:59:59.999Z', '2027-01-31T23:59:59.999Z')).toEqual([]);
  });
});
