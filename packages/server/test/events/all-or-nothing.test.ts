import pg from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { NewEvent } from '../../src/events/event.js';
import { recordEvents } from '../../src/events/record-events.js';
import { event, sendRequest } from '../support/client.js';
import { deliveriesOf } from '../support/deliveries.js';
import { platformToken, sharedService } from '../support/service.js';
import { eventually, newTenant, type Tenant } from '../support/tenant.js';

const service = await sharedService();
const [first, second] = [1, 2].map(() => new pg.Client({ connectionString: service.databaseUrl })) as [
  pg.Client,
  pg.Client,
];
await Promise.all([first.connect(), second.connect()]);
afterAll(() => Promise.all([first.end(), second.end()]));

/** Each test has an organization of its own, with one webhook for everything. */
let tenant: Tenant;
let webhook: { id: string };
beforeEach(async () => {
  tenant = await newTenant(service);
  ({ webhook } = await tenant.connect());
});

const paid = () =>
  event({ organization_id: tenant.organization, idempotency_key: 'paid' }) as unknown as NewEvent;

async function bySql(client: pg.Client): Promise<string> {
  const { type, organization_id, actor, subject, payload, idempotency_key } = paid();
  const { rows } = await client.query(
    'select posthorn.record_event($1, $2, $3, $4, $5, idempotency_key => $6) as id',
    [type, organization_id, actor, subject, payload, idempotency_key],
  );
  return rows[0].id;
}

async function byTypeScript(client: pg.Client): Promise<string> {
  const [recorded] = await recordEvents(client, [paid()]);
  return recorded!.id;
}

const post = () =>
  sendRequest(`${service.platformUrl}/platform/events`, {
    method: 'POST',
    token: platformToken,
    body: paid(),
  });

async function byListener(): Promise<string> {
  const { status, text, body } = await post();
  expect(status, text).toBe(201);
  return body.data[0].id;
}

async function inTransaction(client: pg.Client, end: 'commit' | 'rollback', record: typeof bySql) {
  await client.query('begin');
  const id = await record(client);
  await client.query(end);
  return id;
}

/** What storage has of the organization. */
async function left() {
  const read = async (text: string) =>
    (await service.database.query<Record<string, string>>({ text, values: [tenant.organization] })).rows;
  return {
    events: await read('select id from posthorn.events where organization_id = $1'),
    deliveries: (await deliveriesOf(service.database, tenant.organization)).map(
      ({ event_id, webhook_id }) => ({
        ...{ event_id, webhook_id },
      }),
    ),
    keys: await read('select key, event_id from posthorn.event_keys where organization_id = $1'),
  };
}

const nothing = { events: [], deliveries: [], keys: [] };
const exactly = (id: string) => ({
  events: [{ id }],
  deliveries: [{ event_id: id, webhook_id: webhook.id }],
  keys: [{ key: 'paid', event_id: id }],
});

describe.each([
  ['SQL', bySql],
  ['TypeScript', byTypeScript],
])('an event recorded by %s in a transaction of the caller', (_way, record) => {
  test('leaves no event, no delivery and no key after a rollback, and its key is free', async () => {
    const lost = await inTransaction(first, 'rollback', record);
    expect(await left()).toEqual(nothing);
    const kept = await inTransaction(second, 'commit', record);
    expect(kept).not.toBe(lost);
    expect(await left()).toEqual(exactly(kept));
  });

  test('leaves nothing if the connection is lost before the commit', async () => {
    const lost = new pg.Client({ connectionString: service.databaseUrl });
    lost.on('error', () => undefined);
    await lost.connect();
    await lost.query('begin');
    await record(lost);
    const { processID } = lost as unknown as { processID: number };
    await first.query('select pg_terminate_backend($1, 20000)', [processID]);
    expect(await left()).toEqual(nothing);
  });

  test('exists once, with one delivery, if two connections commit one key at once', async () => {
    const [one, other] = await Promise.all([
      inTransaction(first, 'commit', record),
      inTransaction(second, 'commit', record),
    ]);
    expect(other).toBe(one);
    expect(await left()).toEqual(exactly(one));
  });
});

describe('an event recorded by the listener', () => {
  test('leaves no event, no delivery and no key if its deliveries cannot be stored, and its key is free', async () => {
    await first.query(`
      create function refuse_delivery() returns trigger language plpgsql as
        $$ begin raise exception 'refused'; end $$;
      create trigger refused before insert on posthorn.handoffs for each row
        when ('${tenant.organization}' = any (new.organization_ids)) execute function refuse_delivery()`);
    onTestFinished(async () => {
      await first.query('drop function if exists refuse_delivery() cascade');
    });
    expect((await post()).status).toBe(500);
    expect(await left()).toEqual(nothing);
    await first.query('drop function refuse_delivery() cascade');
    const kept = await byListener();
    expect(await left()).toEqual(exactly(kept));
  });

  test('exists once, with one delivery, if two requests have the same key at once', async () => {
    const [one, other] = await Promise.all([byListener(), byListener()]);
    expect(other).toBe(one);
    expect(await left()).toEqual(exactly(one));
  });
});

describe('one key used in all three ways', () => {
  test('while a transaction of SQL holds it for long is refused with 503, which says so', async () => {
    await first.query('begin');
    await bySql(first);
    const { status, headers, body } = await post();
    await first.query('rollback');
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(body.detail).toBe(
      'Another transaction has used the same idempotency key and is still open. Nothing was recorded. Try again.',
    );
    expect(await left()).toEqual(nothing);
  });

  test('concurrently records one event, and each way returns its id', async () => {
    const ids = await Promise.all([
      inTransaction(first, 'commit', bySql),
      inTransaction(second, 'commit', byTypeScript),
      byListener(),
    ]);
    expect(new Set(ids).size).toBe(1);
    expect(await left()).toEqual(exactly(ids[0]));
  });

  test.each([
    ['commit', 'returns its event once it commits'],
    ['rollback', 'records its own once that is rolled back'],
  ] as const)('while a transaction of SQL holds it waits there, and (%s) %s', async (end, _outcome) => {
    await first.query('begin');
    const held = await bySql(first);
    const responses = Promise.all([byListener(), byTypeScript(second)]);
    const { processID } = first as unknown as { processID: number };
    await eventually(
      () =>
        service.database.query<{ pid: number }>({
          text: 'select pid from pg_stat_activity where $1 = any (pg_blocking_pids(pid))',
          values: [processID],
        }),
      ({ rows }) => rows.length > 0,
    );
    await first.query(end);
    const [one, other] = await responses;
    expect(other).toBe(one);
    expect(one === held).toBe(end === 'commit');
    expect(await left()).toEqual(exactly(one));
  });
});
