import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { readAuditPage, readNewestAudit, writeAudit } from '../../src/audit/audit-store.js';
import { verifyChain } from '../../src/audit/chain-store.js';
import { Database } from '../../src/postgres/database.js';
import { migrate } from '../../src/postgres/migrate.js';
import { dropPartitions } from '../../src/retention/retention-store.js';
import { auditEntry, auditRows } from '../support/audit.js';
import { freshDatabase } from '../support/database.js';
import { urlOf } from '../support/postgres.js';

const { database, url } = await freshDatabase();
const clients: pg.Client[] = [];
/** Writers for all tests: PostgreSQL spends more on a new connection than on what a test does with it. */
let writers: pg.Client[];
beforeAll(async () => {
  writers = await Promise.all(Array.from({ length: 6 }, () => connect()));
});
// A test that failed may have left a transaction open.
afterEach(() => Promise.all(writers.map((client) => client.query('rollback'))));
afterAll(() => Promise.all(clients.map((client) => client.end())));

async function connect(to = url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: to });
  await client.connect();
  clients.push(client);
  return client;
}

const append = (client: pg.Client, organization_id: string, n = 1) =>
  client.query('select posthorn.write_audit($1)', [
    JSON.stringify(Array.from({ length: n }, () => auditEntry({ organization_id }))),
  ]);

const chainOf = async (organization: string) => {
  const { rows } = await database.query<{ length: number; head: string }>({
    text: `select length, encode(hash, 'hex') as head from posthorn.audit_chains where organization_id = $1`,
    values: [organization],
  });
  return rows[0];
};

/** Every hash, computed anew from what is written, as anybody could. */
async function expectChain(organization: string, length: number): Promise<void> {
  const { rows } = await database.query<{ position: number; content: string; hash: Buffer }>({
    text: `
  select position, hash,
         json_build_array(organization_id, position, id, posthorn.epoch_ms(created_at), workspace_id,
                          actor_type, actor_id, action, target_type, target_id, request_id, source_address,
                          changes::text)::text as content
    from posthorn.audit_log where organization_id = $1 order by created_at, id`,
    values: [organization],
  });
  expect(rows.map(({ position }) => position)).toEqual(Array.from({ length }, (_, index) => index + 1));
  let hash: Buffer = Buffer.alloc(0);
  for (const row of rows) {
    hash = createHash('sha256').update(hash).update(row.content).digest();
    expect(row.hash.equals(hash), `position ${row.position}`).toBe(true);
  }
  expect(await chainOf(organization)).toEqual({ length, head: hash.toString('hex') });
}

describe('the chain', () => {
  test('of concurrent writers in one organization has no gap, no fork, and is in order of time', async () => {
    const organization = 'ORG-race';
    await Promise.all(
      writers.map(async (client, writer) => {
        for (let turn = 0; turn < 20; turn++) {
          await client.query('begin');
          await append(client, organization, 1 + ((turn + writer) % 2));
          await client.query((turn + writer) % 5 === 0 ? 'rollback' : 'commit');
        }
      }),
    );
    const rows = await auditRows(database, organization);
    expect(rows.length).toBeGreaterThan(100);
    await expectChain(organization, rows.length);
  });

  test('is locked until the transaction ends, so that a later entry never appears before an earlier one', async () => {
    const organization = 'ORG-held';
    const [early, late] = writers as [pg.Client, pg.Client];
    await early.query('begin');
    await append(early, organization);
    const waiting = append(late, organization);
    await database.query({
      // Until the other one waits for the chain.
      text: `do $$ begin
               while not exists (select from pg_stat_activity
                                  where wait_event_type = 'Lock' and query like '%write_audit%'
                                    and datname = current_database())
               loop perform pg_sleep(0.005); perform pg_stat_clear_snapshot(); end loop; end $$`,
    });
    expect(await auditRows(database, organization)).toEqual([]);
    await early.query('commit');
    await waiting;
    await expectChain(organization, 2);
  });

  test('of an organization does not wait for that of another', async () => {
    const [one, other] = writers as [pg.Client, pg.Client];
    await one.query('begin');
    await append(one, 'ORG-one');
    await append(other, 'ORG-other');
    await one.query('commit');
    await expectChain('ORG-other', 1);
  });

  test('continues after an entry was rolled back', async () => {
    const client = writers[0]!;
    await append(client, 'ORG-back');
    await client.query('begin');
    await append(client, 'ORG-back');
    await client.query('rollback');
    await append(client, 'ORG-back');
    await expectChain('ORG-back', 2);
  });

  test('accepts entries of several organizations in one transaction, in any order', async () => {
    const [one, other] = writers as [pg.Client, pg.Client];
    const both = (client: pg.Client, organizations: string[]) =>
      client.query('select posthorn.write_audit($1)', [
        JSON.stringify(organizations.map((organization_id) => auditEntry({ organization_id }))),
      ]);
    for (let turn = 0; turn < 20; turn++) {
      await Promise.all([both(one, ['ORG-x', 'ORG-y']), both(other, ['ORG-y', 'ORG-x'])]);
    }
    await expectChain('ORG-x', 40);
    await expectChain('ORG-y', 40);
  });
});

test('an entry is written even if its partition is missing', async () => {
  await writeAudit(database, [auditEntry({ organization_id: 'ORG-first' })]);
  await dropPartitions(database, 'audit_log', new Date('2100-01-01'), new Date());
  await writeAudit(database, [auditEntry({ organization_id: 'ORG-first' })]);
  expect((await auditRows(database, 'ORG-first')).map(({ position }) => position)).toEqual([2]);
});

test('retention and writers do not block each other', async () => {
  const { database, url } = await freshDatabase();
  const busy = await Promise.all(Array.from({ length: 3 }, () => connect(url)));
  let dropping = true;
  const written = busy.map(async (client, writer) => {
    let n = 0;
    for (; dropping; n++) {
      await client.query('begin');
      await append(client, `ORG-${(n + writer) % 4}`);
      await client.query('commit');
    }
    return n;
  });
  // Two old months, each with entries of two of the chains that are written to meanwhile.
  const old = ['2020-04-01', '2020-05-01'];
  for (let turn = 0; turn < 6; turn++) {
    for (const [month, day] of old.entries()) {
      await database.query({ text: "select posthorn.ensure_partition('audit_log', $1)", values: [day] });
      await database.query({
        text: `
  insert into posthorn.audit_log
         (organization_id, created_at, id, position, actor_type, actor_id, action, target_type, target_id, changes, hash)
  select 'ORG-' || n, $1, 'AUD-' || n, 0, 'user', 'USR-1', 'x', 'webhook', 'WHK-1', '{}', ''
    from generate_series($2::int, $2 + 1) n`,
        values: [day, 2 * month],
      });
    }
    const dropped = await dropPartitions(database, 'audit_log', new Date('2020-06-01'), new Date());
    expect(dropped).toEqual(['audit_log_20200401', 'audit_log_20200501']);
  }
  dropping = false;
  const total = (await Promise.all(written)).reduce((sum, n) => sum + n, 0);
  const { rows } = await database.query<{ total: number }>({
    text: 'select sum(length)::int as total from posthorn.audit_chains',
  });
  expect(rows[0]?.total).toBe(total);
  for (let n = 0; n < 4; n++) expect((await verifyChain(database, `ORG-${n}`)).fault).toBeUndefined();
});

describe.each(['a superuser', 'a plain role that owns the tables'])('as %s', (who) => {
  let client: pg.Client;
  let partition: string;

  beforeAll(async () => {
    client = await (who === 'a superuser' ? connect() : plainOwner());
    await append(client, 'ORG-kept');
    partition = (
      await client.query(
        "select tableoid::regclass::text as name from posthorn.audit_log where organization_id = 'ORG-kept'",
      )
    ).rows[0].name;
  });

  test.each([
    ['updated', (table: string) => `update ${table} set action = 'x'`],
    ['deleted', (table: string) => `delete from ${table}`],
    ['truncated', (table: string) => `truncate ${table}`],
  ])('an entry cannot be %s, neither through the log nor in its partition', async (_what, statement) => {
    for (const table of ['posthorn.audit_log', partition]) {
      await expect(client.query(statement(table))).rejects.toMatchObject({ code: '42501' });
    }
    const { rows } = await client.query(
      "select * from posthorn.audit_log where organization_id = 'ORG-kept'",
    );
    expect(rows).toHaveLength(1);
  });
});

/** A database that belongs, with all in it, to a role which can do nothing else. */
async function plainOwner(): Promise<pg.Client> {
  const admin = await connect(inject('adminUrl'));
  const name = `posthorn_plain_${randomBytes(6).toString('hex')}`;
  await admin.query(`create role ${name} login password '${name}'`);
  await admin.query(`create database ${name} owner ${name} template template0`);
  const plain = urlOf(inject('adminUrl'), name).replace(/\/\/[^/@]*@?/, `//${name}:${name}@`);
  const owned = new Database({ connectionString: plain }, 1);
  await migrate(owned);
  await owned.close();
  afterAll(async () => {
    await admin.query(`drop database ${name} with (force)`);
    await admin.query(`drop role ${name}`);
  });
  const client = await connect(plain);
  client.on('error', () => undefined);
  expect((await client.query('show is_superuser')).rows).toEqual([{ is_superuser: 'off' }]);
  return client;
}

test('the newest entries of all organizations are in order of time, and filtered', async () => {
  const { database } = await freshDatabase();
  for (const [organization_id, action] of [
    ['ORG-a', 'token.created'],
    ['ORG-b', 'webhook.created'],
    ['ORG-a', 'webhook.created'],
  ] as const) {
    await writeAudit(database, [auditEntry({ organization_id, action })]);
    await database.query({ text: 'select pg_sleep(0.002)' });
  }
  const newest = async (limit: number, filter = {}) => {
    const page = await readNewestAudit(database, { fromMs: 0, ...filter }, limit);
    return { of: page.rows.map(({ organization_id }) => organization_id), hasMore: page.hasMore };
  };
  expect(await newest(2)).toEqual({ of: ['ORG-a', 'ORG-b'], hasMore: true });
  expect(await newest(3)).toEqual({ of: ['ORG-a', 'ORG-b', 'ORG-a'], hasMore: false });
  expect(await newest(3, { action: 'token.created' })).toEqual({ of: ['ORG-a'], hasMore: false });
  expect(await newest(3, { toMs: Date.now() - 60_000 })).toEqual({ of: [], hasMore: false });
});

test('a reader that follows the log while many write sees every entry once and in order', async () => {
  const organization = 'ORG-follow';
  let writing = true;
  const seen: string[] = [];
  const follow = async () => {
    let after: { atMs: number; id: string } | undefined;
    for (let last = false; ; last = !writing) {
      const filter = { organization_id: organization, fromMs: 0 };
      const page = await readAuditPage(database, filter, 'asc', after, 7);
      seen.push(...page.rows.map(({ id }) => id));
      after = page.next;
      if (last && page.rows.length === 0) return;
    }
  };
  const following = follow();
  await Promise.all(
    writers.slice(0, 4).map(async (client) => {
      for (let turn = 0; turn < 25; turn++) {
        await client.query('begin');
        await append(client, organization);
        await client.query('commit');
      }
    }),
  );
  writing = false;
  await following;
  expect(seen).toEqual((await auditRows(database, organization)).map(({ id }) => id));
  expect(seen).toHaveLength(100);
});
