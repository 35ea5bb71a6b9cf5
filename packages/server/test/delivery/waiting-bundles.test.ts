import { describe, expect, test } from 'vitest';
import { claimBundles, claimDeliveries } from '../../src/storage/claims.js';
import type { Database, Queryable } from '../../src/storage/database.js';
import { deleteOldBundles, endWaitingBundles, readLongestWaitSeconds } from '../../src/storage/deliveries.js';
import type { LeasedDelivery } from '../../src/storage/leased-delivery.js';
import { registerNode, releaseDeadNodes, releaseOrphans, retireNodes } from '../../src/storage/nodes.js';
import { recordBatch } from '../../src/storage/recording.js';
import { changeWebhook, deleteWebhook } from '../../src/storage/webhooks.js';
import {
  bundleSizes,
  deliveryRows,
  failedOnce,
  recordFor,
  settle,
  subscribe,
  succeeded,
  withNode,
} from '../support/bundles.js';
import { batch, event } from '../support/client.js';
import { recordText } from '../support/recording.js';

const dayMs = 86_400_000;
const many = 1_000_000;
const idsOf = (deliveries: readonly LeasedDelivery[]) => deliveries.map(({ delivery_id: id }) => id);
const webhook = { organization_id: 'ORG-acme', id: 'WHK-1', only_workspace_id: undefined };

const claim = (database: Queryable, node: number, fields: Partial<Parameters<typeof claimBundles>[1]> = {}) =>
  claimBundles(database, {
    ...{ node, busy: [], answering: ['WHK-1', 'WHK-2'], perWebhook: 10, webhooksMax: 100 },
    ...{ firstMax: many, furtherMax: many, bytesMax: many },
    ...fields,
  });

const claimRows = (database: Database, node: number) =>
  claimDeliveries(database, {
    ...{ node, busy: [], perWebhook: many, webhooksMax: 100, bytesMax: many },
    notBefore: new Date(Date.now() - dayMs),
  });

async function waiting(database: Database): Promise<{ id: string; event_id: string }[]> {
  const { rows } = await database.query<{ id: string; event_id: string }>({
    text: "select id, event_id from posthorn.bundled_of('ORG-acme', 'WHK-1') order by id",
  });
  return rows;
}

describe('what no node has room for', () => {
  test('is a bundle: recorded over SQL, without a node, or for a saturated webhook', async () => {
    const { database, node } = await withNode();
    const events = Array.from({ length: 5 }, () => event());
    await recordText(database, JSON.stringify(events));
    expect((await recordBatch(database, batch(events))).leased).toEqual([]);
    expect((await recordBatch(database, batch(events), { node, saturated: ['WHK-1'] })).leased).toEqual([]);
    expect(await bundleSizes(database)).toEqual([5, 5, 5]);
    expect(await deliveryRows(database)).toEqual([]);
  });

  test('is rows where it is more than a thousand, which SQL may record at once', async () => {
    const { database } = await withNode();
    await recordText(database, JSON.stringify(Array.from({ length: 1_001 }, () => event())));
    expect(await bundleSizes(database)).toEqual([]);
    expect(await deliveryRows(database)).toHaveLength(1_001);
  });

  test('is rows where it is less than four, or more than a megabyte', async () => {
    const { database } = await withNode();
    await recordBatch(database, batch([event(), event(), event()]));
    const large = event({ payload: { filler: 'x'.repeat(250 * 1024) } });
    await recordBatch(database, batch([large, large, large, large, large]));
    expect(await bundleSizes(database)).toEqual([]);
    const rows = await deliveryRows(database);
    expect(rows).toHaveLength(8);
    for (const row of rows) expect(row).toMatchObject({ status: 'pending', attempts: 0, leased_by: null });
  });
});

describe('a claim of bundles', () => {
  test('brings those of a webhook that answers whole, as they were recorded, oldest first', async () => {
    const { database, node } = await withNode();
    const recorded = [];
    for (let n = 0; n < 3; n += 1) {
      const events = Array.from({ length: 5 }, (_, index) =>
        event({ workspace_id: `WS-${index}`, payload: { n: `ü${n}-${index}` } }),
      );
      recorded.push(...(await recordBatch(database, batch(events))).events);
    }
    const waited = await waiting(database);
    const { deliveries, ...rest } = await claim(database, node);
    expect(deliveries.map((one) => one.event_id)).toEqual(recorded.map(({ id }) => id));
    expect(deliveries.map((one) => ({ id: one.delivery_id, event_id: one.event_id }))).toEqual(waited);
    expect(deliveries.map(({ payload }) => JSON.parse(payload!).n)).toEqual(
      [0, 1, 2].flatMap((n) => [0, 1, 2, 3, 4].map((index) => `ü${n}-${index}`)),
    );
    expect(deliveries[6]).toMatchObject({
      ...{ organization_id: 'ORG-acme', webhook_id: 'WHK-1', workspace_id: 'WS-1', attempts: 0 },
      ...{ type: 'invoice.paid', delivery_created_at: recorded[6]!.created_at },
      ...{ event_created_at: recorded[6]!.created_at, bundle: { open: 5 } },
    });
    expect(rest).toEqual({ remaining: [], again: false, complete: true });
    expect((await claim(database, node)).deliveries).toEqual([]);
  });

  test('makes them the deliveries of the node: each is written once, with its outcome, and the bundle ends', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 5);
    const { deliveries } = await claim(database, node);
    await settle(database, node, [
      failedOnce(deliveries[0]!, 60_000),
      ...deliveries.slice(1, 4).map(succeeded),
    ]);
    expect(await bundleSizes(database)).toEqual([5]);
    await settle(database, node, [succeeded(deliveries[4]!)]);
    expect(await bundleSizes(database)).toEqual([]);
    const rows = await deliveryRows(database);
    expect(rows.map(({ id }) => id)).toEqual(idsOf(deliveries).sort());
    expect(rows.map(({ status }) => status).sort()).toEqual(['pending', ...Array(4).fill('success')]);
  });

  test('is released with the node that dies over it, for others', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 6);
    const { deliveries } = await claim(database, node);
    await settle(database, node, [succeeded(deliveries[0]!)]);
    await retireNodes(database, [node]);
    expect(await releaseDeadNodes(database)).toBe(5);
    const heir = await registerNode(database, 60_000);
    expect(idsOf((await claimRows(database, heir)).deliveries).sort()).toEqual(
      idsOf(deliveries.slice(1)).sort(),
    );
  });

  test('brings a webhook that is not known to answer one small bundle, and says whether there is more', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 4);
    await recordFor(database, null, 5);
    const first = await claim(database, node, { answering: [] });
    expect([first.deliveries.length, first.remaining]).toEqual([4, ['WHK-1']]);
    const second = await claim(database, node, { answering: [] });
    expect([second.deliveries.length, second.remaining]).toEqual([5, []]);
    expect(await deliveryRows(database)).toEqual([]);
  });

  test('gives a webhook that is not known to answer rows for the first of a large bundle; the rest waits on in it', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 25);
    const waited = await waiting(database);
    const opened = { deliveries: [], remaining: ['WHK-1'], again: true, complete: true };
    expect(await claim(database, node, { answering: [] })).toEqual(opened);
    expect(await bundleSizes(database)).toEqual([15]);
    const rows = await deliveryRows(database);
    expect(rows.map(({ id, event_id }) => ({ id, event_id }))).toEqual(waited.slice(0, 10));
    expect(await waiting(database)).toEqual(waited.slice(10));
    const bytes = Buffer.byteLength(JSON.stringify({ filler: 'ü' }));
    for (const row of rows)
      expect(row).toMatchObject({ status: 'pending', attempts: 0, leased_by: null, bytes });
    expect((await claimRows(database, node)).deliveries).toHaveLength(10);
  });

  test('brings all of a large bundle in the end, each delivery once, whether its webhook answers meanwhile or not', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 45);
    const waited = await waiting(database);
    const brought: LeasedDelivery[] = [];
    for (const answering of [[], [], ['WHK-1']]) {
      brought.push(...(await claim(database, node, { answering })).deliveries);
      brought.push(...(await claimRows(database, node)).deliveries);
    }
    expect(brought.filter(({ bundle }) => bundle)).toHaveLength(25);
    expect(brought.map((one) => ({ id: one.delivery_id, event_id: one.event_id }))).toEqual(waited);
    await settle(database, node, brought.map(succeeded));
    expect(await bundleSizes(database)).toEqual([]);
    const rows = await deliveryRows(database);
    expect(rows.map(({ id, status }) => ({ id, status }))).toEqual(
      waited.map(({ id }) => ({ id, status: 'success' })),
    );
  });

  test('takes turns: one of each webhook, then a second of each, as far as the deliveries go', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { id: 'WHK-2' });
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 5);
    const counted = async (limits: { firstMax: number; furtherMax: number }) => {
      const { deliveries, remaining } = await claim(database, node, limits);
      const count = (id: string) => deliveries.filter((one) => one.webhook_id === id).length;
      return [count('WHK-1'), count('WHK-2'), remaining.length];
    };
    expect(await counted({ firstMax: many, furtherMax: -1 })).toEqual([5, 5, 2]);
    expect(await counted({ firstMax: many, furtherMax: 16 })).toEqual([10, 10, 0]);
  });

  test('takes turns by organization, however many webhooks one has, and says that it did not look at all', async () => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 20; n += 1) await subscribe(database, { id: `WHK-${n}` });
    await subscribe(database, { organization_id: 'ORG-small', id: 'WHK-small' });
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 4);
    await recordBatch(
      database,
      batch(Array.from({ length: 4 }, () => event({ organization_id: 'ORG-small' }))),
    );
    const { deliveries, again, complete } = await claim(database, node, { webhooksMax: 2 });
    const organizations = new Set(deliveries.map((one) => one.organization_id));
    expect([...organizations].sort()).toEqual(['ORG-acme', 'ORG-small']);
    expect([again, complete]).toEqual([true, false]);
  });

  test('brings first what has waited the longest, so that all webhooks of an organization move on', async () => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 10; n += 1) await subscribe(database, { id: `WHK-${n}` });
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 4);
    const brought: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { deliveries } = await claim(database, node, { firstMax: 8, furtherMax: 0 });
      brought.push(...new Set(deliveries.map((one) => one.webhook_id)));
    }
    expect([brought.length, new Set(brought).size]).toEqual([10, 10]);
  });

  test('is bounded by bytes, but brings one bundle however large it is', async () => {
    const { database, node } = await withNode();
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 4);
    const { deliveries, remaining } = await claim(database, node, { bytesMax: 1 });
    expect([deliveries.length, remaining]).toEqual([4, ['WHK-1']]);
  });

  test('passes over webhooks that are busy, and over those that are not verified', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 4);
    expect((await claim(database, node, { busy: ['WHK-1'] })).deliveries).toEqual([]);
    await changeWebhook(database, webhook, { status: 'unverified' });
    expect((await claim(database, node)).deliveries).toEqual([]);
    await changeWebhook(database, webhook, { status: 'active' });
    expect((await claim(database, node)).deliveries).toHaveLength(4);
  });

  test('of two nodes at once brings nothing to both of them', async () => {
    const { database, node } = await withNode();
    const other = await registerNode(database, 60_000);
    for (let n = 0; n < 40; n += 1) await recordFor(database, null, 4);
    const brought: string[] = [];
    while (brought.length < 160) {
      const claims = await Promise.all([node, other].map((one) => claim(database, one, { furtherMax: 12 })));
      for (const { deliveries } of claims) brought.push(...idsOf(deliveries));
    }
    expect(new Set(brought).size).toBe(160);
    expect(brought).toHaveLength(160);
  });

  test('locks only what it takes: another node is told of the rest, and an end finds it', async () => {
    const { database, node } = await withNode();
    const other = await registerNode(database, 60_000);
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 4);
    await database.transaction(async (client) => {
      expect((await claim(client, node, { furtherMax: 1 })).deliveries).toHaveLength(4);
      const meanwhile = await claim(database, other);
      expect([meanwhile.deliveries.length, meanwhile.remaining]).toEqual([8, ['WHK-1']]);
    });
    expect((await claim(database, other)).remaining).toEqual([]);
  });

  test('of a bundle whose events are gone ends it', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 4);
    await database.query({
      text: "update posthorn.bundles set created_at = created_at - interval '200 days'",
    });
    expect((await claim(database, node)).deliveries).toEqual([]);
    expect(await bundleSizes(database)).toEqual([]);
  });

  test('of a few of many bundles costs no more than of a few', async () => {
    const pages = async (database: Database, node: number) => {
      const { rows } = await database.query<{ 'QUERY PLAN': string }>({
        text: `
  explain (analyze, buffers, costs off, timing off, summary off)
  select * from posthorn.claim_bundles(${node}, '{}', '{WHK-1}', 10, 100, 40, 40, ${many})`,
      });
      const [, hit = 0] = /shared hit=(\d+)/.exec(rows.map((row) => row['QUERY PLAN']).join('\n')) ?? [];
      return Number(hit);
    };
    const prepared = async (copies: number) => {
      const { database, node } = await withNode();
      for (let n = 0; n < 40; n += 1) await recordFor(database, null, 4);
      await database.query({
        text: `
  insert into posthorn.bundles
         (organization_id, webhook_id, created_at, head, delivery_zero, event_zero, ordinals)
  select organization_id, webhook_id, created_at + n * interval '1 hour', head, delivery_zero, event_zero, ordinals
    from posthorn.bundles cross join generate_series(1, $1::int) n`,
        values: [copies],
      });
      return { database, node };
    };
    const [few, large] = [await prepared(10), await prepared(500)];
    // The first claim of a connection also reads the catalogue.
    await pages(few.database, few.node);
    await pages(large.database, large.node);
    const [pagesFew, pagesLarge] = [
      await pages(few.database, few.node),
      await pages(large.database, large.node),
    ];
    expect(pagesFew).toBeGreaterThan(0);
    expect(pagesLarge).toBeLessThan(2 * pagesFew);
  });
});

describe('what waits in bundles', () => {
  test('ends failed with error disabled where its webhook is disabled, without an attempt', async () => {
    const { database } = await withNode();
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 4);
    const waited = await waiting(database);
    await changeWebhook(database, webhook, { status: 'disabled', disabled_reason: 'manual' });
    while (await endWaitingBundles(database, webhook));
    expect(await bundleSizes(database)).toEqual([]);
    const { rows } = await database.query({
      text: 'select id, event_id, status, error, attempts from posthorn.deliveries order by id',
    });
    expect(rows).toEqual(waited.map((one) => ({ ...one, status: 'failed', error: 'disabled', attempts: 0 })));
  });

  test('is gone where its webhook is deleted', async () => {
    const { database } = await withNode();
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 4);
    await deleteWebhook(database, webhook);
    while (await endWaitingBundles(database, webhook));
    expect([await bundleSizes(database), await deliveryRows(database)]).toEqual([[], []]);
  });

  test.each(['active', 'unverified'] as const)('goes on waiting where its webhook is %s', async (status) => {
    const { database } = await withNode();
    await recordFor(database, null, 4);
    await changeWebhook(database, webhook, { status });
    expect(await endWaitingBundles(database, webhook)).toBe(false);
    expect(await bundleSizes(database)).toEqual([4]);
  });

  test('is not taken for what a dead node left', async () => {
    const { database } = await withNode();
    await recordFor(database, null, 4);
    expect([await releaseOrphans(database), await bundleSizes(database)]).toEqual([0, [4]]);
  });

  test('counts for how long deliveries wait, unless its webhook is to be verified first', async () => {
    const { database } = await withNode();
    expect(await readLongestWaitSeconds(database)).toBe(0);
    await recordFor(database, null, 4);
    await database.query({ text: "update posthorn.bundles set created_at = created_at - interval '1 hour'" });
    expect(Math.floor((await readLongestWaitSeconds(database)) / 3600)).toBe(1);
    await changeWebhook(database, webhook, { status: 'unverified' });
    expect(await readLongestWaitSeconds(database)).toBe(0);
  });

  test('goes with its events when they are no longer kept', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 4);
    await recordFor(database, node, 5);
    await deleteOldBundles(database, new Date(Date.now() - dayMs));
    expect(await bundleSizes(database)).toEqual([4, 5]);
    await deleteOldBundles(database, new Date(Date.now() + dayMs));
    expect(await bundleSizes(database)).toEqual([5]);
  });
});
