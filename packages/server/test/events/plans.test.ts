import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type EventFilter,
  eventPageStatement,
  Horizons,
  readEventPage,
} from '../../src/events/event-store.js';
import type { Database } from '../../src/postgres/database.js';
import { makePartitionsAhead } from '../../src/retention/retention-store.js';
import type { Order, Position } from '../../src/values/cursor.js';
import { dayMs } from '../../src/values/time.js';
import { freshDatabase } from '../support/database.js';
import { PagePlans, rootOf } from '../support/plans.js';
import { weekName, weekOf } from '../support/weeks.js';

/** Enough for 2,000 small pages. A table of 200,000 tests less: the larger it is, the less likely is a sort. */
const events = 20_000;
const weeks = 4;
const limit = 25;
const deepLimit = 5;
const startMs = weekOf(Date.now()) - (weeks - 1) * 7 * dayMs;

/** Each filter, and the index that is made for it. */
const filters: [string, Partial<EventFilter>, string][] = [
  ['none', {}, 'pkey'],
  ['workspace_id', { workspace_id: 'WS-3' }, 'organization_id_workspace_id_created_at_id_idx'],
  ['type', { type: 'type.3' }, 'organization_id_type_created_at_id_idx'],
  ['subject_type', { subject_type: 'kind_3' }, 'organization_id_subject_type_created_at_id_idx'],
  ['subject_id', { subject_id: 'SUB-3' }, 'organization_id_subject_id_created_at_id_idx'],
  ['actor_id', { actor_id: 'USR-3' }, 'organization_id_actor_id_created_at_id_idx'],
  ['a type nobody has', { type: 'nobody.knows' }, 'organization_id_type_created_at_id_idx'],
];

let client: pg.Client;
let database: Database;
let plans: PagePlans;

beforeAll(async () => {
  const { url, ...fresh } = await freshDatabase();
  database = fresh.database;
  client = new pg.Client({ connectionString: url });
  await client.connect();
  plans = new PagePlans(client);
  // With what the embedded server writes to its log, a table made and filled in one transaction is cheap.
  await client.query('begin');
  for (let week = 0; week < weeks; week++) {
    const startsMs = startMs + week * 7 * dayMs;
    await client.query('select posthorn.ensure_partition($1, $2)', ['events', new Date(startsMs)]);
    // No statistics until the test wants them.
    const partition = `posthorn.events_${weekName(startsMs)}`;
    await client.query(`alter table ${partition} set (autovacuum_enabled = false)`);
  }
  // Six of ten events belong to ORG-0, the others to four smaller organizations.
  await client.query(
    `insert into posthorn.events
            (organization_id, created_at, id, type, workspace_id, actor_type, actor_id, subject_type, subject_id, payload, bytes)
     select 'ORG-' || case when g % 10 < 6 then 0 else g % 10 end, at, 'EVT-' || lpad(g::text, 26, '0'),
            'type.' || (g * 7919 % 23), case when g % 5 > 0 then 'WS-' || (g * 31 % 7) end,
            'user', 'USR-' || (g * 104729 % 211),
            'kind_' || (g * 17 % 8), 'SUB-' || (g * 7907 % 2003), '{"n":1}', 7
       from (select g, to_timestamp(($1::float8 + g * $3::float8) / 1000) as at
               from generate_series(0::bigint, $2::bigint - 1) g) e`,
    [startMs, events, (weeks * 7 * dayMs) / events],
  );
  await client.query('commit');
  // The weeks to come are there too, empty, as in a running service.
  await makePartitionsAhead(database, Date.now());
});
afterAll(() => client.end());

describe('before statistics exist', () => {
  test.each(filters)(
    'a page filtered by %s is one ordered scan of the index made for it',
    async (_, filter, index) => expectOrderedScans(filter, index),
  );
});

describe('with statistics', () => {
  beforeAll(async () => {
    await client.query('analyze posthorn.events');
    plans = new PagePlans(client);
  });

  test.each(filters)(
    'a page filtered by %s is one ordered scan of the index made for it',
    async (_, filter, index) => expectOrderedScans(filter, index),
  );

  test.each(['desc', 'asc'] as const)('page 2,000 reads as many buffers as page 1, %s', async (order) => {
    const filter = { organization_id: 'ORG-0', fromMs: startMs };
    const after = await positionAfter(order, 1_999 * deepLimit);
    const first = await buffersOf(filter, order, undefined);
    const deep = await buffersOf(filter, order, after);
    // A page may begin or end in the middle of a leaf, and the next leaf or partition be needed.
    expect(deep).toBeLessThanOrEqual(first + 10);
    expect(first).toBeLessThan(4 * limit);
  });
});

describe('a walk through the pages', () => {
  const toMs = startMs + (weeks - 1) * 7 * dayMs - 1;
  const walks: [string, Partial<EventFilter>, Order, number?][] = [
    ['many events in each week', { type: 'type.3' }, 'desc', 1],
    ['many events in each week', { type: 'type.3' }, 'asc'],
    ['few events in each week', { actor_id: 'USR-3' }, 'desc', 2],
    ['few events in each week', { actor_id: 'USR-3' }, 'asc'],
  ];
  test.each(walks)('%s: has every event once, %j %s', async (_, given, order, firstReads) => {
    const filter = { organization_id: 'ORG-0', fromMs: startMs, toMs, ...given };
    const [column, value] = Object.entries(given)[0]!;
    const { rows } = await client.query(
      `select id from posthorn.events where organization_id = 'ORG-0' and created_at <= $1 and ${column} = $2
        order by created_at ${order}, id ${order}`,
      [new Date(toMs), value],
    );
    let reads = 0;
    const horizons = new Horizons(database);
    await horizons.read('ORG-0');
    const counting = <T>(work: (source: Database) => Promise<T>) => {
      reads += 1;
      return work(database);
    };
    const ids: string[] = [];
    let after: Position | undefined;
    for (let more = true; more; ) {
      const page = await readEventPage(database, filter, order, after, 40, { reads: counting, horizons });
      if (!after && firstReads !== undefined) expect(reads).toBe(firstReads);
      ids.push(...page.rows.map((json) => JSON.parse(json).id));
      ({ hasMore: more, next: after } = page);
    }
    expect(ids).toEqual(rows.map(({ id }) => id));
  });
});

/** Whatever the order, the range, the place in the list and the size of the organization. */
async function expectOrderedScans(filter: Partial<EventFilter>, index: string): Promise<void> {
  const ranges = [
    { fromMs: Date.now() - 90 * dayMs },
    { fromMs: startMs + 3 * dayMs },
    { fromMs: startMs + 3 * dayMs, toMs: startMs + 21 * dayMs },
  ];
  const places = [undefined, { atMs: startMs + 14 * dayMs + 5, id: 'EVT-0' }];
  for (const organization_id of ['ORG-0', 'ORG-7', 'ORG-none']) {
    for (const order of ['asc', 'desc'] as const) {
      for (const range of ranges) {
        for (const after of places) {
          const page = { organization_id, ...range, ...filter };
          const statement = eventPageStatement(page, order, after, limit + 1);
          await plans.expectOrderedScan(statement, index, { page, order, after });
        }
      }
    }
  }
}

async function buffersOf(filter: EventFilter, order: Order, after: Position | undefined): Promise<number> {
  const { text, values } = eventPageStatement(filter, order, after, deepLimit + 1);
  const plan = rootOf(await client.query(`explain (analyze, buffers, format json) ${text}`, values));
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

async function positionAfter(order: Order, count: number): Promise<Position> {
  const { rows } = await client.query(
    `select created_at, id from posthorn.events where organization_id = 'ORG-0'
      order by created_at ${order}, id ${order} offset $1 limit 1`,
    [count - 1],
  );
  return { atMs: rows[0].created_at.getTime(), id: rows[0].id };
}
