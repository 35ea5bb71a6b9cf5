import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayMs } from '../../src/domain/duration.js';
import { type DeliveryFilter, deliveryListStatement } from '../../src/storage/delivery-history.js';
import { makePartitionsAhead } from '../../src/storage/partitions.js';
import { freshDatabase } from '../support/database.js';
import { subscribe } from '../support/deliveries.js';
import { rootOf } from '../support/plans.js';
import { weekName, weekOf } from '../support/weeks.js';

const deliveries = 100_000;
const webhooks = 20;
const weeks = 4;
const startMs = weekOf(Date.now()) - (weeks - 1) * 7 * dayMs;
const eventMs = startMs + 10 * dayMs;

let client: pg.Client;

beforeAll(async () => {
  const { url, database } = await freshDatabase();
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
     select 'ORG-acme', 'WHK-' || (g % $4), at, 'WDLV-' || lpad(g::text, 26, '0'), 'EVT-' || g, 'invoice.paid', at,
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
        const { text, values } = deliveryListStatement(page, after, 26)!;
        const plan = rootOf(await client.query(`explain (analyze, buffers, format json) ${text}`, values));
        // 20 webhooks with 26 rows each, in up to four ways and five weeks; the table has 2,000 pages and more.
        expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(1_600);
      }
    },
  );
});
