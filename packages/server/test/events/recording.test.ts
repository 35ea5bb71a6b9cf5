import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { registerNode } from '../../src/cells/node-store.js';
import type { NewEvent, StoredEvent } from '../../src/events/event.js';
import { recordBatch, recordEvents } from '../../src/events/recording-store.js';
import type { Database } from '../../src/postgres/database.js';
import { idTimeMs } from '../../src/values/identifier.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import { roomOf } from '../support/deliveries.js';
import { recordText } from '../support/recording.js';
import { weekName } from '../support/weeks.js';

let database: Database;
let url: string;
let first: pg.Client;
let second: pg.Client;
/** Each test has an organization of its own. */
let organization: string;
let tests = 0;

beforeAll(async () => {
  ({ database, url } = await freshDatabase());
  [first, second] = [1, 2].map(() => new pg.Client({ connectionString: url })) as [pg.Client, pg.Client];
  await Promise.all([first.connect(), second.connect()]);
});
afterAll(() => Promise.all([first.end(), second.end()]));
beforeEach(() => {
  tests += 1;
  organization = `ORG-${tests}`;
});

const newEvent = (fields: Partial<NewEvent> = {}) =>
  event({ organization_id: organization, ...fields }) as unknown as NewEvent;

async function stored(organizationId = organization): Promise<readonly StoredEvent[]> {
  const { rows } = await database.query<StoredEvent>({
    text: `
  select id, type, organization_id, workspace_id, actor_type, actor_id, subject_type, subject_id, payload, created_at
    from posthorn.events
   where organization_id = $1
   order by created_at, id`,
    values: [organizationId],
  });
  return rows;
}

async function storedIds(organizationId = organization): Promise<string[]> {
  return (await stored(organizationId)).map(({ id }) => id);
}

async function recordEvent(client: pg.Client, payload = '{}', key: string | null = null): Promise<string> {
  const { rows } = await client.query(
    `select posthorn.record_event('invoice.paid', $1, '{"type":"user","id":"USR-ada"}',
              '{"type":"invoice","id":"INV-1"}', $2, idempotency_key => $3) as id`,
    [organization, payload, key],
  );
  return rows[0].id;
}

/** Resolves once this connection waits for a lock that another one holds. */
async function untilItWaits(client: pg.Client): Promise<void> {
  const { processID } = client as unknown as { processID: number };
  for (;;) {
    const { rows } = await database.query<{ waits: boolean }>({
      text: 'select cardinality(pg_blocking_pids($1)) > 0 as waits',
      values: [processID],
    });
    if (rows[0]?.waits) return;
  }
}

describe('posthorn.record_event in a transaction of the caller', () => {
  test('leaves nothing after a rollback', async () => {
    await first.query('begin');
    await recordEvent(first);
    await first.query('rollback');
    expect(await stored()).toEqual([]);
  });

  test('leaves exactly one event after the commit, and not before', async () => {
    await first.query('begin');
    const id = await recordEvent(first);
    expect(await stored()).toEqual([]);
    await first.query('commit');
    expect(await stored()).toEqual([
      {
        id,
        type: 'invoice.paid',
        organization_id: organization,
        workspace_id: null,
        actor_type: 'user',
        actor_id: 'USR-ada',
        subject_type: 'invoice',
        subject_id: 'INV-1',
        payload: '{}',
        created_at: expect.any(Date),
      },
    ]);
  });

  test('commits or rolls back with everything else in the transaction', async () => {
    await first.query('create temporary table bills (paid boolean not null)');
    await first.query('begin');
    await recordEvent(first);
    await expect(first.query('insert into bills values (null)')).rejects.toThrow('not-null');
    await first.query('commit');
    expect(await stored()).toEqual([]);
  });
});

describe('recordEvents(client, events)', () => {
  test("leaves nothing if the client's transaction is rolled back", async () => {
    await first.query('begin');
    expect(await recordEvents(first, [newEvent(), newEvent()])).toHaveLength(2);
    await first.query('rollback');
    expect(await stored()).toEqual([]);
  });

  test('leaves the returned events after the commit', async () => {
    await first.query('begin');
    const recorded = await recordEvents(first, [newEvent(), newEvent()]);
    await first.query('commit');
    expect((await stored()).map(({ id, created_at }) => ({ id, created_at }))).toEqual(recorded);
  });

  test('returns nothing for no events', async () => {
    expect(await recordEvents(first, [])).toEqual([]);
  });
});

describe('a batch', () => {
  test('keeps its order in the ids and shares its time', async () => {
    const subjects = Array.from({ length: 1_000 }, (_, index) => `RUN-${index}`);
    const recorded = await recordEvents(
      first,
      subjects.map((id) => newEvent({ subject: { type: 'run', id } })),
    );
    expect(new Set(recorded.map(({ created_at }) => created_at.getTime())).size).toBe(1);
    const events = await stored();
    expect(events.map(({ subject_id }) => subject_id)).toEqual(subjects);
    expect(events.map(({ id }) => id)).toEqual(recorded.map(({ id }) => id));
  });

  test('is recorded completely or not at all', async () => {
    const broken = { ...newEvent(), type: null } as unknown as NewEvent;
    await expect(recordEvents(first, [newEvent(), broken])).rejects.toThrow('event 1: type');
    expect(await stored()).toEqual([]);
  });

  test('can contain events of several organizations, each in its own stream', async () => {
    const other = `${organization}-other`;
    const [mine, theirs] = await recordEvents(first, [newEvent(), newEvent({ organization_id: other })]);
    expect(await storedIds()).toEqual([mine!.id]);
    expect(await storedIds(other)).toEqual([theirs!.id]);
  });
});

test('the time in an id is the time of the event', async () => {
  for (let turn = 0; turn < 20; turn++) await recordEvents(first, [newEvent()]);
  const events = await stored();
  expect(events.map(({ id }) => idTimeMs('EVT', id))).toEqual(
    events.map(({ created_at }) => created_at.getTime()),
  );
});

test.each([
  '{}',
  '{ "b" : 1.10,\n  "a":[1e400, 0.1000, 12345678901234567890 ] , "B":"\\u00e9\\ud83d\\ude00 é😀 \\/" }',
  '{"a":1,"a":2,"":{"":[]}}',
])('the payload %j stays as recorded, to the byte', async (payload) => {
  await recordEvent(first, payload);
  await recordText(
    database,
    `[${JSON.stringify(newEvent()).replace('"payload":{}', () => `"payload":${payload}`)}]`,
  );
  expect((await stored()).map((one) => one.payload)).toEqual([payload, payload]);
});

describe('an idempotency key', () => {
  test('has 1 to 255 characters, or nothing is recorded', async () => {
    for (const idempotency_key of ['', 'k'.repeat(256)]) {
      const refused = recordEvents(first, [newEvent(), newEvent({ idempotency_key })]);
      await expect(refused).rejects.toThrow('idempotency_key_has_1_to_255_characters');
    }
    expect(await stored()).toEqual([]);
    expect(await recordEvents(first, [newEvent({ idempotency_key: 'ü'.repeat(255) })])).toHaveLength(1);
  });

  test('that was used before returns the first event and records nothing', async () => {
    const [before] = await recordEvents(first, [newEvent({ idempotency_key: 'k' })]);
    const again = await recordEvents(second, [newEvent({ idempotency_key: 'k' })]);
    expect(again).toEqual([before]);
    expect(await recordEvent(second, '{}', 'k')).toBe(before!.id);
    expect(await storedIds()).toEqual([before!.id]);
  });

  test('that appears twice in a batch records the first event', async () => {
    const recorded = await recordEvents(first, [
      newEvent(),
      newEvent({ idempotency_key: 'k', payload: { n: 1 } }),
      newEvent(),
      newEvent({ idempotency_key: 'k', payload: { n: 2 } }),
      newEvent({ idempotency_key: 'other' }),
    ]);
    const [a, b, c, again, d] = recorded.map(({ id }) => id);
    expect(again).toBe(b);
    expect(await storedIds()).toEqual([a, b, c, d]);
    expect((await stored())[1]!.payload).toBe('{"n":1}');
  });

  test('in use by an open transaction is waited for, and returns its event once it commits', async () => {
    await first.query('begin');
    const [before] = await recordEvents(first, [newEvent({ idempotency_key: 'k' })]);
    const waiting = recordEvents(second, [newEvent({ idempotency_key: 'k' })]);
    await untilItWaits(second);
    await first.query('commit');
    expect(await waiting).toEqual([before]);
    expect(await storedIds()).toEqual([before!.id]);
  });

  test('in use by a transaction that rolls back is free for a waiting one', async () => {
    await first.query('begin');
    const [lost] = await recordEvents(first, [newEvent({ idempotency_key: 'k' })]);
    const waiting = recordEvents(second, [newEvent({ idempotency_key: 'k' })]);
    await untilItWaits(second);
    await first.query('rollback');
    const [kept] = await waiting;
    expect(kept!.id).not.toBe(lost!.id);
    expect(await storedIds()).toEqual([kept!.id]);
  });

  test('in use by a transaction that stays open is refused to a node, which then knows that it leased nothing', async () => {
    let inDoubt = 0;
    database.onLeaseInDoubt = () => {
      inDoubt += 1;
    };
    const node = await registerNode(database, 60_000);
    await first.query('begin');
    await recordEvent(first, '{}', 'held');
    const events = batch([event({ organization_id: organization, idempotency_key: 'held' })]);
    await expect(recordBatch(database, events, roomOf(node))).rejects.toMatchObject({ code: '55P03' });
    expect(inDoubt).toBe(0);
    await first.query('rollback');
  });

  test('is waited for in a transaction of the caller as long as the caller chooses, also afterwards', async () => {
    await first.query("begin; set local lock_timeout = '1min'");
    await recordEvent(first, '{}', 'chosen');
    expect((await first.query('show lock_timeout')).rows).toEqual([{ lock_timeout: '1min' }]);
    await first.query('rollback');
  });

  test('in batches that name keys in opposite orders never deadlocks', async () => {
    const keys = ['a', 'b', 'c', 'd'];
    const batch = (named: string[]) => named.map((key) => newEvent({ idempotency_key: key }));
    const ids = (recorded: readonly { id: string }[]) => recorded.map(({ id }) => id);
    const recorded = await Promise.all([
      recordEvents(first, batch(keys)),
      recordEvents(second, batch(keys.toReversed())),
    ]);
    expect(ids(recorded[1]).reverse()).toEqual(ids(recorded[0]));
    expect(await stored()).toHaveLength(4);
  });

  test.each([
    ['is free again after 24 h', '24 hours', true],
    ['is not free before that', '23 hours 50 minutes', false],
  ])('%s', async (_, age, isFree) => {
    const [before] = await recordEvents(first, [newEvent({ idempotency_key: 'k' })]);
    await first.query(
      'update posthorn.event_keys set created_at = created_at - $2::interval where organization_id = $1',
      [organization, age],
    );
    const [again] = await recordEvents(first, [newEvent({ idempotency_key: 'k' })]);
    expect(again!.id !== before!.id).toBe(isFree);
    const [third] = await recordEvents(first, [newEvent({ idempotency_key: 'k' })]);
    expect(third!.id).toBe(again!.id);
    expect(await stored()).toHaveLength(isFree ? 2 : 1);
  });

  test('is independent in another organization', async () => {
    const other = `${organization}-other`;
    const recorded = await recordEvents(first, [
      newEvent({ idempotency_key: 'k' }),
      newEvent({ idempotency_key: 'k', organization_id: other }),
    ]);
    expect(await storedIds()).toEqual([recorded[0]!.id]);
    expect(await storedIds(other)).toEqual([recorded[1]!.id]);
  });

  test('counts however its name is escaped in JSON', async () => {
    const spelled = `[${JSON.stringify(newEvent({ idempotency_key: 'k' })).replace('idempotency_key', 'idempotency\\u005fkey')}]`;
    expect(await recordText(first, spelled)).toEqual(await recordText(first, spelled));
    expect(await stored()).toHaveLength(1);
  });
});

describe('a missing weekly partition', () => {
  const partitions = async () => {
    const { rows } = await first.query(
      `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = 'posthorn.events'::regclass`,
    );
    return rows.map(({ name }) => name as string);
  };

  test('is created by the first recording', async () => {
    for (const name of await partitions()) await first.query(`drop table posthorn.${name}`);
    const [recorded] = await recordEvents(first, [newEvent()]);
    expect(await storedIds()).toEqual([recorded!.id]);
    expect(await partitions()).toEqual([`events_${weekName(recorded!.created_at.getTime())}`]);
  });

  test('is created once by several concurrent recordings', async () => {
    for (const name of await partitions()) await first.query(`drop table posthorn.${name}`);
    const recorded = await Promise.all(
      Array.from({ length: 8 }, () => recordText(database, JSON.stringify([newEvent()]))),
    );
    expect((await storedIds()).sort()).toEqual(recorded.map(([one]) => one!.id).sort());
  });
});

describe('a session with other settings', () => {
  let other: pg.Client;
  beforeAll(async () => {
    other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query(
      "set datestyle = 'SQL, DMY'; set timezone = 'Asia/Kolkata'; set standard_conforming_strings = off; set search_path = ''",
    );
  });
  afterAll(() => other.end());

  test('creates partitions with the same bounds', async () => {
    await other.query("select posthorn.ensure_partition('events', '2031-03-05')");
    const { rows } = await database.query<object>({
      text: "select pg_get_expr(relpartbound, oid) as bounds from pg_class where relname = 'events_20310303'",
    });
    expect(rows).toEqual([
      { bounds: "FOR VALUES FROM ('2031-03-03 00:00:00+00') TO ('2031-03-10 00:00:00+00')" },
    ]);
  });

  test('records and refuses the same events', async () => {
    const recorded = await recordEvents(other, [newEvent()]);
    expect(recorded).toEqual((await stored()).map(({ id, created_at }) => ({ id, created_at })));
    const wrong = recordText(other, JSON.stringify([newEvent({ type: 'invoice-paid' as never })]));
    await expect(wrong).rejects.toThrow("type 'invoice-paid' is not of the form domain.action");
  });
});
