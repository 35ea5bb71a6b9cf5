import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { writeAudit } from '../../src/audit/audit-store.js';
import { verifyChain } from '../../src/audit/chain-store.js';
import type { Database } from '../../src/postgres/database.js';
import { maintain } from '../../src/retention/maintenance.js';
import { deleteOld } from '../../src/retention/retention-store.js';
import { dayMs } from '../../src/values/time.js';
import { auditEntry } from '../support/audit.js';
import { freshDatabase } from '../support/database.js';
import { withNode } from '../support/deliveries.js';
import { startTestService } from '../support/service.js';
import { newTenant, type Tenant } from '../support/tenant.js';
import { weekName, weekOf } from '../support/weeks.js';

const silent = pino({ level: 'silent' });
const retentionMs = 90 * dayMs;
const run = (database: Database, now?: () => number, logger = silent) =>
  maintain({ database, logger, retentionMs, ...(now && { now }) });
const clients: pg.Client[] = [];
afterAll(() => Promise.all(clients.map((client) => client.end())));

async function partitionsOf(database: Database): Promise<Record<string, string[]>> {
  const { rows } = await database.query<{ parent: string; day: string }>({
    text: `select p.relname as parent, right(c.relname, 8) as day
             from pg_inherits i
             join pg_class c on c.oid = i.inhrelid
             join pg_class p on p.oid = i.inhparent
            where p.relname in ('events', 'deliveries', 'audit_log')
            order by 1, 2`,
  });
  const days: Record<string, string[]> = { events: [], deliveries: [], audit_log: [] };
  for (const { parent, day } of rows) days[parent]?.push(day);
  return days;
}
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');
/** The week of this time and the two after it, which are made ahead. */
const weeks = (fromMs: number) => [0, 7, 14].map((ahead) => weekName(fromMs + ahead * dayMs));
const firstOfMonth = (ms: number) => `${dayOf(ms).slice(0, 6)}01`;

describe('on one node at a time', () => {
  test('nothing runs while another node holds the lock, and everything runs afterwards', async () => {
    const { database, url } = await freshDatabase();
    const other = new pg.Client({ connectionString: url });
    clients.push(other);
    await other.connect();
    await other.query('begin');
    await other.query("select pg_advisory_xact_lock(hashtextextended('posthorn.maintenance', 0))");
    await run(database);
    expect((await partitionsOf(database)).events).toEqual([]);
    await other.query('commit');
    await run(database);
    expect((await partitionsOf(database)).events).toEqual(weeks(Date.now()));
  });

  test('the lock is released after each run', async () => {
    const { database } = await freshDatabase();
    for (let turn = 0; turn < 2; turn++) {
      const nowMs = Date.now() + turn * 30 * dayMs;
      await run(database, () => nowMs);
      expect((await partitionsOf(database)).events?.at(-1)).toBe(weeks(nowMs).at(-1));
    }
  });

  test('an unreachable database is not a failure', async () => {
    const { Database } = await import('../../src/postgres/database.js');
    const away = new Database({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
    const warnings: unknown[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => warnings.push(JSON.parse(line).msg) });
    await run(away, undefined, logger);
    expect(warnings).toEqual(['maintenance failed and will be retried']);
    await away.close();
  });
});

test('after a missed week the first run creates what is missing and drops what is old', async () => {
  const { database } = await freshDatabase();
  let nowMs = Date.now();
  const runNow = () => run(database, () => nowMs);
  await runNow();
  const before = weeks(nowMs);
  const endOfSecondMs = weekOf(nowMs) + 14 * dayMs;
  nowMs += 28 * dayMs;
  await runNow();
  const after = weeks(nowMs);
  expect((await partitionsOf(database)).events).toEqual([...before, ...after]);
  // The second week has one millisecond left that is not older than 90 days.
  nowMs = endOfSecondMs - 1 + 90 * dayMs;
  await runNow();
  const { events, deliveries } = await partitionsOf(database);
  expect(events).toEqual([...before.slice(1), ...after, ...weeks(nowMs)]);
  expect(deliveries).toEqual(events);
  nowMs += 1;
  await runNow();
  expect((await partitionsOf(database)).events).toEqual([...before.slice(2), ...after, ...weeks(nowMs)]);
});

test('a node whose clock is a year ahead drops nothing that is not old', async () => {
  const { database } = await freshDatabase();
  await run(database);
  const before = await partitionsOf(database);
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 366 * dayMs);
  await run(database).finally(() => clock.mockRestore());
  expect(await partitionsOf(database)).toEqual(before);
});

describe('one run, a limited number at a time,', () => {
  const countOf = async (database: Database, text: string) =>
    (await database.query<{ count: number }>({ text: `select count(*) from posthorn.${text}` })).rows[0]!
      .count;

  test('deletes all old keys', async () => {
    const { database } = await freshDatabase();
    await database.query({
      text: `
  insert into posthorn.event_keys (organization_id, key, event_id, created_at)
  select 'ORG-acme', n, 'EVT-' || n, now() - n * interval '1 minute' - interval '30 s' from generate_series(1, 2000) n`,
    });
    expect(await deleteOld(database, 'event_keys', new Date(), 10)).toBe(10);
    await run(database);
    expect(await countOf(database, 'event_keys')).toBe(1_439);
  });

  test('keeps keys of the last 24 hours, even if the clock of the node is two days ahead', async () => {
    const { database } = await freshDatabase();
    await database.query({
      text: `
  insert into posthorn.event_keys (organization_id, key, event_id, created_at) values ('ORG-acme', '1', 'EVT-1', now());
  insert into posthorn.request_keys (organization_id, token_id, route, key, fingerprint, created_at)
  values ('ORG-acme', 'TOK-1', 'POST /', '1', '', now())`,
    });
    await run(database, () => Date.now() + 2 * dayMs);
    expect([await countOf(database, 'event_keys'), await countOf(database, 'request_keys')]).toEqual([1, 1]);
  });

  test('releases all deliveries that are still held although their webhook is active', async () => {
    const { database } = await withNode();
    await run(database);
    await database.query({
      text: `
  insert into posthorn.deliveries (organization_id, webhook_id, created_at, id, event_id, event_type,
                                   event_created_at, due_at, leased_by, attempts)
  select 'ORG-acme', 'WHK-1', now(), 'WDLV-' || n, 'EVT-' || n, 'invoice.paid', now(), now(), 0, 1
    from generate_series(1, 2500) n`,
    });
    await run(database);
    expect(await countOf(database, 'deliveries where leased_by = 0')).toBe(0);
  });
});

describe('as the clock moves on', () => {
  let service: Awaited<ReturnType<typeof startTestService>>;
  let tenant: Tenant;
  let startMs: number;
  const countOf = async (path: string) => (await tenant.data('GET', path)).length;
  const events = () => countOf(`/v1/events?organization_id=${tenant.organization}`);
  const entries = () => countOf('/v1/audit-logs');
  const runLater = () => run(service.database, () => Date.now() + service.clock.offsetMs);

  beforeEach(async () => {
    service ??= await startTestService();
    service.clock.offsetMs = 0;
    startMs = Date.now();
    tenant = await newTenant(service, {
      scopes: ['events:read', 'audit:read'],
      expires_at: new Date(startMs + 3 * 366 * dayMs),
    });
    await tenant.record();
    await writeAudit(service.database, [auditEntry({ organization_id: tenant.organization })]);
  });

  test('after 97 days the stream is empty at once and deleted after one run, and the audit log is still there', async () => {
    expect([await events(), await entries()]).toEqual([1, 1]);
    service.clock.offsetMs = 91 * dayMs;
    expect([await events(), await entries()]).toEqual([0, 1]);
    // All of its week is old then.
    service.clock.offsetMs = 97 * dayMs;
    await runLater();
    const stored = await partitionsOf(service.database);
    expect(stored.events).not.toContain(weekName(startMs));
    expect(stored.deliveries).toEqual(stored.events);
    expect(stored.audit_log).toContain(firstOfMonth(startMs));
    expect([await events(), await entries()]).toEqual([0, 1]);
    await tenant.record();
    await writeAudit(service.database, [auditEntry({ organization_id: tenant.organization })]);
    expect((await verifyChain(service.database, tenant.organization)).fault).toBeUndefined();
  });

  test('after 366 days the audit log is empty at once, and its partition is dropped after one run', async () => {
    service.clock.offsetMs = 366 * dayMs;
    expect(await entries()).toBe(0);
    await runLater();
    expect((await partitionsOf(service.database)).audit_log).not.toContain(firstOfMonth(startMs));
    const { rows } = await service.database.query({ text: 'select from posthorn.audit_log' });
    expect(rows).toEqual([]);
    expect(await verifyChain(service.database, tenant.organization)).toMatchObject({
      ...{ entries: 0, position: 1, fault: undefined },
    });
    await writeAudit(service.database, [auditEntry({ organization_id: tenant.organization })]);
    expect(await verifyChain(service.database, tenant.organization)).toMatchObject({
      ...{ entries: 1, position: 2, fault: undefined },
    });
  });
});
