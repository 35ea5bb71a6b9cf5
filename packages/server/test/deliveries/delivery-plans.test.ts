import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type DeliveryFilter,
  deliveryListStatement,
  listDeliveries,
  readMax,
} from '../../src/deliveries/list-store.js';
import type { Database } from '../../src/postgres/database.js';
import { makePartitionsAhead } from '../../src/retention/retention-store.js';
import type { Position } from '../../src/values/cursor.js';
import { dayMs } from '../../src/values/time.js';
import { freshDatabase } from '../support/database.js';
import { subscribe } from '../support/deliveries.js';
import { rootOf } from '../support/plans.js';
import { weekName, weekOf } from '../support/weeks.js';

const deliveries = 40_000;
const webhooks = 10;
/** 10 webhooks with 26 rows each, in up to four ways and five weeks. The table alone has 750 pages. */
const pageBuffersMax = 500;
const weeks = 4;
const startMs = weekOf(Date.now()) - (weeks - 1) * 7 * dayMs;
const eventMs = startMs + 10 * dayMs;

let client: pg.Client;
let database: Database;

beforeAll(async () => {
  const { url, ...fresh } = await freshDatabase();
  database = fresh.database;
  for (let n = 0; n < webhooks; n += 1) await subscribe(database, { id: `WHK-${n}` });
  client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin');
  for (let week = 0; week < weeks; week += 1) {
    const startsMs = startMs + week * 7 * dayMs;
    await client.query('select posthorn.ensure_partition($1, $2)', ['deliveries', new Date(startsMs)]);
    const partition = `posthorn.deliveries_${weekName(startsMs)}`;
    await client.query(`alter table ${partition} set (autovacuum_enabled = false)`);
  }
  // One in a thousand failed for good, another one waits for a retry.
  await client.query(
    `insert into posthorn.deliveries
            (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, status, attempts,
             due_at, attempted_at)
     select 'ORG-acme', 'WHK-' || (g % $4), at, 'WDLV-' || lpad(g::text, 26, '0'), 'EVT-' || g,
            case g % 3000 when 5 then 'task.created' else 'invoice.paid' end, at,
            case g % 1000 when 0 then 'failed' when 1 then 'pending' else 'success' end, 1, at, at
       from (select g, to_timestamp(($1::float8 + g * $3::float8) / 1000) as at
               from generate_series(0::bigint, $2::bigint - 1) g) d`,
    [startMs, deliveries, (weeks * 7 * dayMs) / deliveries, webhooks],
  );
  await client.query('commit');
  await makePartitionsAhead(database, Date.now());
});
afterAll(() => client.end());

const filters: [string, Partial<DeliveryFilter>][] = [
  ['nothing', {}],
  ['a webhook', { webhook_id: 'WHK-3' }],
  ['success', { status: 'success' }],
  ['failed', { status: 'failed' }],
  ['what has ended', { final: true }],
  ['what is attempted again', { final: false }],
  ['what was given up', { status: 'failed', final: true }],
  ['an event', { event: { id: 'EVT-7', createdMs: eventMs } }],
];

describe.each([
  ['before statistics exist', false],
  ['with statistics', true],
])('%s', (_name, analyzed) => {
  beforeAll(async () => {
    if (analyzed) await client.query('analyze posthorn.deliveries');
  });

  test.each(filters)(
    'a page of all webhooks, filtered by %s, reads about as much as it returns',
    async (_, filter) => {
      const page = { organization_id: 'ORG-acme', fromMs: startMs, ...filter };
      for (const after of [undefined, { atMs: startMs + 20 * dayMs, id: 'WDLV-0' }]) {
        const { text, values } = deliveryListStatement(page, after, 26, readMax)!;
        const plan = rootOf(await client.query(`explain (analyze, buffers, format json) ${text}`, values));
        expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(pageBuffersMax);
      }
    },
  );

  test('a page of a type that few deliveries have reads a limited number of rows', async () => {
    const page = { organization_id: 'ORG-acme', fromMs: startMs, event_type: 'task.assigned' };
    const { text, values } = deliveryListStatement(page, undefined, 26, 1_000)!;
    const plan = rootOf(await client.query(`explain (analyze, buffers, format json) ${text}`, values));
    expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(pageBuffersMax);
  });
});

test.each<[string, Partial<DeliveryFilter>]>([
  ['of one type', { event_type: 'task.created' }],
  ['of one type and a webhook', { event_type: 'task.created', webhook_id: 'WHK-5' }],
  ['that failed, of one type', { event_type: 'invoice.paid', status: 'failed' }],
])('pages that stop early list all deliveries %s, each once and newest first', async (_, given) => {
  const filter = { organization_id: 'ORG-acme', fromMs: startMs, ...given };
  const { rows: all } = await listDeliveries(database, filter, undefined, 1_000, deliveries * webhooks);
  expect(all.length).toBeGreaterThan(0);
  const listed: string[] = [];
  let pages = 0;
  for (let after: Position | undefined, hasMore = true; hasMore; pages += 1) {
    const page = await listDeliveries(database, filter, after, 7, 2_000);
    expect(page.rows.length).toBeLessThanOrEqual(7);
    listed.push(...page.rows.map(({ id }) => id));
    ({ hasMore, next: after } = page);
  }
  expect(listed).toEqual(all.map(({ id }) => id));
  expect(pages).toBeGreaterThan(all.length / 7);
});
