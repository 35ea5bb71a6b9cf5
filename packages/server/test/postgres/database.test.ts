import { Socket } from 'node:net';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { NotificationListener } from '../../src/postgres/connection.js';
import { allowPauses, Database } from '../../src/postgres/database.js';
import { isTransient, isUnreachable } from '../../src/postgres/database-errors.js';
import { Reachability } from '../../src/postgres/reachability.js';
import { afterFile } from '../support/cleanup.js';
import { changeSettings, freshDatabase } from '../support/database.js';
import { hurried } from '../support/limits.js';
import { Log } from '../support/log.js';
import { eventually } from '../support/tenant.js';

let database: Database;
let other: pg.Client;
beforeAll(async () => {
  const fresh = await freshDatabase();
  database = fresh.database;
  other = new pg.Client({ connectionString: fresh.url });
  await other.connect();
});
afterAll(() => other.end());

const backend = async () => {
  const { rows } = await database.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
  return rows[0]!.pid;
};

async function running(text: string): Promise<number> {
  const { rows } = await other.query(
    'select count(*)::int from pg_stat_activity where query = $1 and datname = current_database()',
    [text],
  );
  return rows[0].count;
}

test('a statement that takes too long is canceled on the server', async () => {
  const text = 'select pg_sleep(600)';
  await hurried(async () => {
    const refusal = expect(database.query({ text })).rejects.toSatisfy(isUnreachable);
    await eventually(
      () => running(text),
      (count) => count > 0,
    );
    await refusal;
  });
  await eventually(
    () => running(text),
    (count) => count === 0,
  );
  expect(await backend()).toBeGreaterThan(0);
});

test('a statement whose signal aborts is canceled on the server, and its connection is closed', async () => {
  const text = 'select pg_sleep(601)';
  const pid = await backend();
  const stop = new AbortController();
  const inDoubt = vi.spyOn(database, 'onLeaseInDoubt');
  const canceled = database.query({ text, signal: stop.signal, leases: true });
  await eventually(
    () => running(text),
    (count) => count === 1,
  );
  stop.abort();
  await expect(canceled).rejects.toThrow(/canceling statement/);
  expect(await backend()).not.toBe(pid);
  // It was rolled back.
  expect(inDoubt).not.toHaveBeenCalled();
});

test('a statement that waits too long for a lock is canceled on the server, too', async () => {
  await database.query({ text: 'create table locked (n int)' });
  await other.query('begin; lock table locked');
  const text = 'insert into locked values (1)';
  await hurried(() => expect(database.query({ text })).rejects.toSatisfy(isUnreachable));
  const waiting =
    'select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())';
  await eventually(
    () => other.query(waiting),
    ({ rowCount }) => rowCount === 0,
  );
  await other.query('commit');
  expect((await database.query({ text: 'select from locked' })).rowCount).toBe(0);
});

test('a connection that the server closes is replaced', async () => {
  const before = await backend();
  await other.query('select pg_terminate_backend($1, 5000)', [before]);
  const after = await database
    .query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
    .catch((error) => {
      // It may be the one to notice.
      expect(isUnreachable(error)).toBe(true);
      return undefined;
    });
  expect(after?.rows[0]?.pid ?? (await backend())).not.toBe(before);
});

test('a connection that breaks during a transaction fails only that transaction', async () => {
  await expect(
    database.transaction(async (client) => {
      const { rows } = await client.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
      await other.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
      await client.query({ text: 'select 1' });
    }),
  ).rejects.toSatisfy(isUnreachable);
  expect(await backend()).toBeGreaterThan(0);
});

test('only a statement that finds no free connection counts as waiting for one', async () => {
  const { url } = await freshDatabase();
  const single = new Database({ connectionString: url }, 1);
  afterFile(() => single.close());
  await single.query({ text: 'select 1' });
  const immediate = single.query({ text: 'select 1' });
  expect(single.use).toMatchObject({ inUse: 0, waiting: 0 });
  await immediate;
  const { late } = await single.transaction(async () => {
    const late = single.query({ text: 'select 1' });
    expect(single.use).toMatchObject({ inUse: 1, waiting: 1 });
    return { late };
  });
  await late;
});

test('an exception rolls a transaction back', async () => {
  await database.query({ text: 'create table kept (n int)' });
  const fault = new Error('no');
  await expect(
    database.transaction(async (client) => {
      await client.query({ text: 'insert into kept values (1)' });
      throw fault;
    }),
  ).rejects.toBe(fault);
  expect((await database.query({ text: 'select from kept' })).rowCount).toBe(0);
});

test('a transaction of a process that has vanished is ended by PostgreSQL, unless it has to wait for something else', async () => {
  const text = 'show idle_in_transaction_session_timeout';
  const limitOf = async (hasNoTimeLimit: boolean, prepare: typeof allowPauses = async () => undefined) => {
    const { rows } = await database.transaction(async (client) => {
      await prepare(client);
      return client.query<object>({ text });
    }, hasNoTimeLimit);
    return rows[0];
  };
  expect(await limitOf(false)).toEqual({ idle_in_transaction_session_timeout: '10s' });
  // Its statements may take as long as they like.
  expect(await limitOf(true)).toEqual({ idle_in_transaction_session_timeout: '10s' });
  expect(await limitOf(true, allowPauses)).toEqual({ idle_in_transaction_session_timeout: '0' });
  // The setting ends with the transaction, so that a pooler can give the connection to others.
  expect((await database.query({ text })).rows[0]).toEqual({ idle_in_transaction_session_timeout: '0' });
});

test('times and snapshots do not depend on the settings of the database', async () => {
  const { database, url } = await freshDatabase(true);
  await changeSettings(database, {
    datestyle: 'SQL, DMY',
    timezone: 'Asia/Kolkata',
    default_transaction_isolation: 'repeatable read',
  });
  const fresh = new Database({ connectionString: url }, 1);
  const text = `
  select timestamptz '2026-03-04 23:00Z' as at, (timestamptz '2026-03-04 23:00Z')::text as written,
         current_setting('transaction_isolation') as isolation`;
  const { rows } = await fresh.transaction((client) => client.query<object>({ text }));
  expect(rows).toEqual([
    {
      at: new Date('2026-03-04T23:00:00Z'),
      written: '2026-03-04 23:00:00+00',
      isolation: 'read committed',
    },
  ]);
  await fresh.close();
});

test('a transaction without a time limit has none from the database either', async () => {
  const { database, url } = await freshDatabase(true);
  await changeSettings(database, { statement_timeout: '1s', lock_timeout: '1s' });
  const fresh = new Database({ connectionString: url }, 1);
  const text =
    "select current_setting('statement_timeout') || ' ' || current_setting('lock_timeout') as limits";
  const limits = async (hasNone: boolean) => {
    const { rows } = await fresh.transaction((client) => client.query<{ limits: string }>({ text }), hasNone);
    return rows[0]!.limits;
  };
  expect([await limits(true), await limits(false)]).toEqual(['0 0', '1s 1s']);
  await fresh.close();
});

test('a statement that exceeds the time limit of the database can succeed later', async () => {
  const { database, url } = await freshDatabase(true);
  await changeSettings(database, { statement_timeout: '100ms' });
  const fresh = new Database({ connectionString: url }, 1);
  afterFile(() => fresh.close());
  const failure = await fresh.query({ text: 'select pg_sleep(600)' }).catch((error) => error);
  expect(isTransient(failure)).toBe(true);
  expect(isUnreachable(failure)).toBe(false);
});

test('a database that accepts writes again is writable at once, although old sessions do not know it', async () => {
  const { database, url } = await freshDatabase(true);
  await changeSettings(database, { default_transaction_read_only: 'on' });
  const fresh = new Database({ connectionString: url }, 1);
  expect(await fresh.isWritable()).toBe(false);
  await changeSettings(database, { default_transaction_read_only: 'off' });
  expect(await fresh.isWritable()).toBe(true);
  await fresh.close();
});

test('a database that accepts writes again gets them, although old sessions would refuse', async () => {
  const { database, url } = await freshDatabase(true);
  await changeSettings(database, { default_transaction_read_only: 'on' });
  const log = new Log();
  const fresh = new Database({ connectionString: url }, 2, new Reachability(pino({}, log)));
  const write = { text: 'create table written ()' };
  await fresh.onConnection(async () => {
    await expect(fresh.query(write)).rejects.toThrow('read-only');
  });
  await changeSettings(database, { default_transaction_read_only: 'off' });
  await fresh.query(write);
  expect(log.warnings).toEqual([expect.stringContaining('the database is read-only')]);
  await fresh.close();
});

test('a database without disk space is reported once a minute, however many statements fail', async () => {
  const { url } = await freshDatabase(true);
  const log = new Log();
  let nowMs = 0;
  const reachability = new Reachability(pino({}, log), () => nowMs);
  const fresh = new Database({ connectionString: url }, 1, reachability);
  const write = {
    text: `do $$ begin raise 'could not extend file: no space left' using errcode = '53100'; end $$`,
  };
  for (const atMs of [0, 1_000, 59_000, 60_000]) {
    nowMs = atMs;
    await expect(fresh.query(write)).rejects.toThrow('no space left');
    await fresh.query({ text: 'select' });
  }
  const said = expect.stringMatching(/^the database has no disk space left; .*free up space/);
  expect(log.warnings).toEqual([said, said]);
  await fresh.close();
});

test('a connection that the network drops silently is probed after seconds, not hours', async () => {
  const { url } = await freshDatabase(true);
  // Sockets of this test's own: a service that other tests share may open connections at any time.
  const probed: ReturnType<typeof vi.spyOn>[] = [];
  const stream = () => {
    const socket = new Socket();
    probed.push(vi.spyOn(socket, 'setKeepAlive'));
    return socket;
  };
  const fresh = new Database({ connectionString: url, stream }, 1);
  await fresh.query({ text: 'select' });
  const listener = new NotificationListener({ connectionString: url, stream }, 'nothing', () => undefined);
  await listener.start();
  expect(probed.map((spy) => spy.mock.calls)).toEqual([[[true, 10_000]], [[true, 10_000]]]);
  await Promise.all([fresh.close(), listener.stop()]);
});

test('a wrong statement does not count as an unreachable database', async () => {
  const error = await database
    .query({ text: 'select nothing from nowhere' })
    .catch((thrown: unknown) => thrown);
  expect(isUnreachable(error)).toBe(false);
});

test('the leases of a transaction are in doubt only after its commit was sent', async () => {
  const { database } = await freshDatabase();
  let inDoubt = 0;
  database.onLeaseInDoubt = () => {
    inDoubt += 1;
  };
  await hurried(async () => {
    const broken = database.transaction(async (client) => {
      await client.query({ text: 'select 1', leases: true });
      await client.query({ text: 'select pg_sleep(30)' });
    });
    await expect(broken).rejects.toThrow(/timeout/);
    expect(inDoubt).toBe(0);
    await expect(database.query({ text: 'select pg_sleep(30)', leases: true })).rejects.toThrow(/timeout/);
    expect(inDoubt).toBe(1);
  });
});

test('a copy that ends early fails its transaction, and nothing of it stays open', async () => {
  const text = 'copy (select generate_series(1, 10000000)) to stdout';
  const reading = database.transaction(async (client) => {
    for await (const _ of client.stream(copyTo(text))) throw new Error('enough');
  });
  await expect(reading).rejects.toThrow('enough');
  await eventually(
    () => running(text),
    (count) => count === 0,
  );
  expect(database.use.inUse).toBe(0);
  expect(await backend()).toBeGreaterThan(0);
});
