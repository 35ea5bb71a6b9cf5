import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventJson, eventJsonPosition, type StoredEvent } from '../../src/events/event.js';
import { readEventPage } from '../../src/events/event-store.js';
import { Database } from '../../src/postgres/database.js';
import type { Position } from '../../src/values/cursor.js';
import { freshDatabase } from '../support/database.js';

/** Identifiers are printable ASCII: what JSON has to escape in them, and what looks like the end of a text. */
const texts = ['plain', 'a"b', 'a\\b', 'a\\"b', '\\', '"', 'é', '\u2028𝄞', '"}', '', ' '];
const payloads = [
  '{}',
  '{ "b": 1.10,\n\t"1": 12345678901234567890, "a": [1e400, 0.1000, -0], "b": "\\u00e9\\/\\u001e" }',
  '{"created_at":"1999-01-01T00:00:00.000Z"}',
];
const times = ['00:00:00', '23:59:59.999', '09:05:07.1', '09:05:07.01', '09:05:07.001', '12:00:00.5'];
const filter = { organization_id: 'ORG-acme', fromMs: 0 };

let database: Database;

beforeAll(async () => {
  const { url } = await freshDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Times are UTC whatever the database shows them in.
  await client.query(`do $$ begin
    execute format('alter database %I set timezone = %L', current_database(), 'Asia/Kolkata');
  end $$`);
  await client.query("select posthorn.ensure_partition('events', '2026-11-15')");
  let number = 0;
  const at = <T>(values: readonly T[]) => values[number % values.length];
  for (; number < 60; number += 1) {
    await client.query(
      `insert into posthorn.events
              (organization_id, created_at, id, type, workspace_id, actor_type, actor_id, subject_type, subject_id, payload,
               bytes)
       values ('ORG-acme', $1, $2, 'invoice.paid', $3, $4, $5, $6, $7, $8, 0)`,
      [
        `2026-11-15T${at(times)}Z`,
        `EVT-${String(number).padStart(26, '0')}`,
        number % 3 === 0 ? null : at(texts),
        'user',
        at(texts),
        'invoice',
        at(texts.toReversed()),
        at(payloads),
      ],
    );
  }
  await client.end();
  database = new Database({ connectionString: url });
});
afterAll(() => database.close());

async function storedEvents(order: 'desc' | 'asc'): Promise<readonly StoredEvent[]> {
  const { rows } = await database.query<StoredEvent>({
    text: `select * from posthorn.events order by created_at ${order}, id ${order}`,
  });
  return rows;
}

test.each(['desc', 'asc'] as const)(
  'a page has the events as the API shows a single one, byte for byte, %s',
  async (order) => {
    const page = await readEventPage(database, filter, order, undefined, 100);
    expect(page.rows).toHaveLength(60);
    expect(page).toMatchObject({ rows: (await storedEvents(order)).map(eventJson), hasMore: false });
  },
);

test('the position of an event can be read from its text', async () => {
  const positions = (await storedEvents('desc')).map(({ created_at, id }) => ({
    atMs: created_at.getTime(),
    id,
  }));
  const { rows } = await readEventPage(database, filter, 'desc', undefined, 100);
  expect(rows.map(eventJsonPosition)).toEqual(positions);
});

test('a page can be empty', async () => {
  expect(
    await readEventPage(database, { ...filter, type: 'invoice.voided' }, 'desc', undefined, 100),
  ).toEqual({ rows: [], hasMore: false, next: undefined });
});

test.each(['desc', 'asc'] as const)(
  'a page of large events ends early and has more, and the pages together have every event once, %s',
  async (order) => {
    const { database: own } = await freshDatabase();
    // Only the size that is stored with an event counts, so that this test need not move 24 MiB.
    await own.query({ text: "select posthorn.ensure_partition('events', '2024-01-05')" });
    await own.query({
      text: `
  insert into posthorn.events (organization_id, created_at, id, type, workspace_id, actor_type, actor_id, subject_type,
                               subject_id, payload, bytes)
  select 'ORG-acme', '2024-01-05T10:00:00Z', 'EVT-' || lpad(n::text, 26, '0'), 'invoice.paid', null, 'user', 'USR-ada',
         'invoice', 'INV-1', '{}', 3 * 1024 * 1024
    from generate_series(1, 8) n`,
    });
    const sizes: number[] = [];
    const ids: string[] = [];
    let after: Position | undefined;
    for (let more = true; more; ) {
      const page = await readEventPage(own, filter, order, after, 100);
      ids.push(...page.rows.map((json) => JSON.parse(json).id));
      sizes.push(page.rows.length);
      ({ hasMore: more, next: after } = page);
    }
    expect(sizes).toEqual([3, 3, 2]);
    expect(new Set(ids).size).toBe(8);
    const small = await readEventPage(own, filter, order, undefined, 100, { bytesMax: 1 });
    expect(small).toMatchObject({ rows: { length: 1 }, hasMore: true });
  },
);
