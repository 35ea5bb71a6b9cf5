import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { endOfStream, Horizons, readEventPage, readHorizonMs } from '../../src/events/event-store.js';
import type { RecordedEvent } from '../../src/events/recording-store.js';
import type { Database } from '../../src/postgres/database.js';
import { encodeCursor, type Position } from '../../src/values/cursor.js';
import { event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import { recordText } from '../support/recording.js';

let database: Database;
/** Writers for all tests: PostgreSQL spends more on a new connection than on what a test does with it. */
const clients: pg.Client[] = [];
let early: pg.Client;
let late: pg.Client;
let url: string;

beforeAll(async () => {
  ({ database, url } = await freshDatabase());
  for (let n = 0; n < 8; n += 1) {
    const writer = new pg.Client({ connectionString: url });
    await writer.connect();
    clients.push(writer);
  }
  [early, late] = clients as [pg.Client, pg.Client];
});
// A test that failed may have left a transaction open.
afterEach(() => Promise.all([early, late].map((client) => client.query('rollback'))));
afterAll(() => Promise.all(clients.map((client) => client.end())));

function batchFor(organization: string, size = 1): string {
  return JSON.stringify(Array.from({ length: size }, () => event({ organization_id: organization })));
}

/** Follows the stream page by page, from where it is to what is settled now. */
class Follower {
  readonly seen: { id: string }[] = [];
  readonly #horizons = new Horizons(database);
  readonly #filter: { organization_id: string; type?: string; fromMs: number };
  readonly #limit: number;
  #position: Position | undefined;

  constructor(organization: string, limit = 100, from?: Position, type?: string) {
    this.#filter = { organization_id: organization, fromMs: 0, ...(type !== undefined && { type }) };
    this.#limit = limit;
    this.#position = from;
  }

  async catchUp(): Promise<void> {
    for (;;) {
      const page = await readEventPage(database, this.#filter, 'asc', this.#position, this.#limit, {
        horizons: this.#horizons,
      });
      this.seen.push(...page.rows.map((json) => JSON.parse(json)));
      this.#position = page.next;
      if (!page.hasMore) return;
    }
  }

  get ids(): string[] {
    return this.seen.map(({ id }) => id);
  }
}

const byTimeAndId = (a: RecordedEvent, b: RecordedEvent) =>
  a.created_at.getTime() - b.created_at.getTime() || (a.id < b.id ? -1 : 1);

test('a follower sees every committed event once and in order while many writers commit out of order', async () => {
  const organization = 'ORG-many';
  const committed: RecordedEvent[] = [];
  let writing = true;

  async function write(client: pg.Client, writer: number): Promise<void> {
    // Fixed per writer, so that a failure shows the same mix of durations and rollbacks again.
    let state = writer + 1;
    const random = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    for (let turn = 0; turn < 16; turn++) {
      await client.query('begin');
      const recorded = [...(await recordText(client, batchFor(organization, 1 + random(3))))];
      await delay(random(12));
      if (random(3) === 0) recorded.push(...(await recordText(client, batchFor(organization))));
      if (random(5) === 0) await client.query('rollback');
      else {
        await client.query('commit');
        committed.push(...recorded);
      }
    }
  }

  async function follow(follower: Follower): Promise<void> {
    while (writing) await follower.catchUp();
    await follower.catchUp();
  }

  const followers = [
    new Follower(organization, 3),
    new Follower(organization),
    new Follower(organization, 7, undefined, 'invoice.paid'),
  ];
  const following = followers.map(follow);
  await Promise.all(clients.map(write));
  writing = false;
  await Promise.all(following);

  const inOrder = committed.sort(byTimeAndId).map(({ id }) => id);
  expect(inOrder.length).toBeGreaterThan(200);
  for (const follower of followers) expect(follower.ids).toEqual(inOrder);
});

test('a reader does not pass an open transaction that recorded earlier', async () => {
  const organization = 'ORG-late';
  // On a new connection, most time passes between the announcement and the clock.
  const early = new pg.Client({ connectionString: url });
  await early.connect();
  clients.push(early);
  const follower = new Follower(organization);

  await early.query('begin');
  const [a] = await recordText(early, batchFor(organization));
  await late.query('select pg_sleep_until($1)', [new Date(a!.created_at.getTime() + 2)]);
  const [b] = await recordText(late, batchFor(organization));

  await follower.catchUp();
  expect(follower.ids).toEqual([]);
  await early.query('commit');
  await follower.catchUp();
  expect(follower.ids).toEqual([a!.id, b!.id]);
});

test('a reader does not pass a transaction that has announced itself and gets its time later', async () => {
  const organization = 'ORG-announced';
  const follower = new Follower(organization);

  await early.query('begin');
  const { rows } = await early.query('select posthorn.announce_recording($1) as at', [[organization]]);
  await late.query('select pg_sleep_until($1)', [new Date(rows[0].at.getTime() + 2)]);
  const [b] = await recordText(late, batchFor(organization));

  await follower.catchUp();
  expect(follower.ids).toEqual([]);
  await late.query('select pg_sleep_until($1)', [new Date(b!.created_at.getTime() + 2)]);
  const [a] = await recordText(early, batchFor(organization));
  await early.query('commit');
  await follower.catchUp();
  expect(follower.ids).toEqual([b!.id, a!.id]);
});

test('a reader continues when the transaction that delayed it is rolled back', async () => {
  const organization = 'ORG-rolled-back';
  const follower = new Follower(organization);

  await early.query('begin');
  await recordText(early, batchFor(organization));
  const [b] = await recordText(late, batchFor(organization));
  await early.query('rollback');
  await follower.catchUp();
  expect(follower.ids).toEqual([b!.id]);
});

test('a transaction still delays readers after it rolled back to a savepoint and recorded again', async () => {
  const client = early;
  await client.query('begin; savepoint before');
  await recordText(client, batchFor('ORG-savepoint'));
  await client.query('rollback to savepoint before');
  const [kept] = await recordText(client, batchFor('ORG-savepoint'));
  expect(await readHorizonMs(database, 'ORG-savepoint')).toBeLessThanOrEqual(kept!.created_at.getTime());
  await client.query('commit');
  expect(await readHorizonMs(database, 'ORG-savepoint')).toBeGreaterThan(kept!.created_at.getTime());
});

test('a transaction that records repeatedly holds one lock', async () => {
  const client = early;
  const heldAfter = async (times: number) => {
    for (let time = 0; time < times; time++) await recordText(client, batchFor('ORG-locks'));
    const { rows } = await client.query(
      "select count(*)::int from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'",
    );
    return rows[0].count;
  };
  await client.query('begin');
  const once = await heldAfter(1);
  expect(await heldAfter(20)).toBe(once);
  await client.query('rollback');
});

test('a transaction delays readers of its organizations, and hardly ever those of others', async () => {
  const organizations = ['ORG-held-0', 'ORG-held-1'];
  const others = Array.from({ length: 50 }, (_, n) => `ORG-other-${n}`);
  const client = early;
  await client.query('begin');
  const recorded: RecordedEvent[] = [];
  for (const organization of organizations)
    recorded.push(...(await recordText(client, batchFor(organization))));
  const isHeld = async (organization: string | null) =>
    (await readHorizonMs(database, organization)) <= recorded[0]!.created_at.getTime();
  for (const organization of [organizations[0]!, null]) expect(await isHeld(organization)).toBe(true);
  expect(await readHorizonMs(database, organizations[1]!)).toBeLessThanOrEqual(
    recorded[1]!.created_at.getTime(),
  );
  // Organizations share 4,095 buckets: two of fifty in the same as one of these is one in thousands.
  let held = 0;
  for (const organization of others) if (await isHeld(organization)) held += 1;
  expect(held).toBeLessThan(2);
  await client.query('commit');
  for (const organization of [...organizations, null]) expect(await isHeld(organization)).toBe(false);
});

test('a transaction that records for very many organizations delays all readers, with a few locks', async () => {
  const client = early;
  await client.query('begin');
  const events = Array.from({ length: 200 }, (_, n) => event({ organization_id: `ORG-crowd-${n}` }));
  const [first] = await recordText(client, JSON.stringify(events));
  await recordText(client, batchFor('ORG-crowd-later'));
  const { rows } = await client.query(
    "select count(*)::int from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'",
  );
  expect(rows[0].count).toBeLessThanOrEqual(17);
  for (const organization of ['ORG-crowd-0', 'ORG-crowd-199', 'ORG-not-there', null])
    expect(await readHorizonMs(database, organization)).toBeLessThanOrEqual(first!.created_at.getTime());
  await client.query('commit');
  expect(await readHorizonMs(database, 'ORG-crowd-0')).toBeGreaterThan(first!.created_at.getTime());
});

test('an event that was acknowledged before a read is in its result', async () => {
  const organization = 'ORG-own';
  const follower = new Follower(organization, 100, await endOfStream(database, organization));
  const written: string[] = [];
  for (let turn = 0; turn < 50; turn++) {
    const [recorded] = await recordText(database, batchFor(organization));
    written.push(recorded!.id);
    await follower.catchUp();
    expect(follower.ids.at(-1)).toBe(recorded!.id);
  }
  expect(follower.ids).toEqual(written);
});

test('the horizon is after the moment of the call, and never in the future', async () => {
  const client = early;
  const { rows } = await client.query(`
    select date_trunc('milliseconds', clock_timestamp()) as before, posthorn.event_horizon('ORG-own') as horizon,
           clock_timestamp() as after
      from generate_series(1, 100)`);
  expect(rows.length).toBe(100);
  for (const { before, horizon, after } of rows) {
    expect(horizon.getTime()).toBeGreaterThan(before.getTime());
    expect(horizon.getTime()).toBeLessThanOrEqual(after.getTime());
  }
});

test('a reader that starts now sees what is being recorded at that moment', async () => {
  const organization = 'ORG-present';
  const client = early;
  await client.query('begin');
  const [inFlight] = await recordText(client, batchFor(organization));
  const follower = new Follower(organization, 100, await endOfStream(database, organization));
  await client.query('commit');
  await follower.catchUp();
  expect(follower.ids).toEqual([inFlight!.id]);
});

test('a position in the stream never goes back, even if the horizon does', async () => {
  const organization = 'ORG-back';
  const ahead = { atMs: Date.now() + 60_000, id: 'EVT-Z' };
  const page = await readEventPage(database, { organization_id: organization, fromMs: 0 }, 'asc', ahead, 10);
  expect(page).toEqual({ rows: [], hasMore: false, next: ahead });
});

test('an empty range before 1970 has a next position, too', async () => {
  const filter = { organization_id: 'ORG-none', fromMs: 0, toMs: Date.parse('1960-01-01T00:00:00Z') };
  const page = await readEventPage(database, filter, 'asc', undefined, 10);
  expect(page.rows).toEqual([]);
  expect(encodeCursor(page.next!, 'any')).toMatch(/^[\w-]+$/);
});
