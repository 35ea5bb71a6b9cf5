import { describe, expect, test } from 'vitest';
import { registerNode } from '../../src/cells/node-store.js';
import type { Claimed } from '../../src/engine/claim-store.js';
import { type LeasedDelivery, recordBatch } from '../../src/events/recording-store.js';
import type { Database } from '../../src/postgres/database.js';
import { changeWebhook } from '../../src/webhooks/webhook-store.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import {
  backlogSizes,
  claimFor,
  deliveryRows,
  eventsOf,
  failedOnce,
  handoffSizes,
  idsOf,
  many,
  nextMillisecond,
  openDeliveries,
  recordFor,
  roomOf,
  settleFor,
  subscribe,
  succeeded,
  withNode,
} from '../support/deliveries.js';
import { ExplainedClient } from '../support/explained-client.js';
import { recordText } from '../support/recording.js';

const kilobyte = 1024;
const webhook = { organization_id: 'ORG-acme', id: 'WHK-1' };
const pairsOf = (deliveries: readonly LeasedDelivery[]) =>
  deliveries.map((one) => ({ id: one.delivery_id, event_id: one.event_id }));

function countsOf({ deliveries }: Claimed): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { webhook_id: id } of deliveries) counts[id] = (counts[id] ?? 0) + 1;
  return counts;
}

/** Makes so many deliveries that failed once and are due again. */
async function retries(database: Database, node: number, count: number): Promise<void> {
  const { leased } = await recordFor(database, node, count);
  await settleFor(
    database,
    node,
    leased.map((one) => failedOnce(one, 0)),
  );
}

describe('deliveries that no node has room for', () => {
  test('are one row of the backlog per recording and webhook, however many they are', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { id: 'WHK-2' });
    const large = event({ payload: { filler: 'x'.repeat(250 * kilobyte) } });
    await recordText(database, JSON.stringify(eventsOf('ORG-acme', 1_200)));
    await recordBatch(database, batch([large, large, large, large, large]));
    await recordBatch(database, batch([event()]), roomOf(node, { each: 0 }));
    expect(await backlogSizes(database, 'waiting')).toEqual([1_200, 5, 1, 1_200, 5, 1]);
    expect([await handoffSizes(database), await deliveryRows(database)]).toEqual([[], []]);
  });
});

describe('a claim', () => {
  test('returns waiting deliveries as they were recorded, oldest first', async () => {
    const { database, node } = await withNode();
    const recorded = [];
    for (let n = 0; n < 3; n += 1) {
      const events = Array.from({ length: 5 }, (_, index) =>
        event({ workspace_id: `WS-${index}`, payload: { n: `ü${n}-${index}` } }),
      );
      recorded.push(...(await recordBatch(database, batch(events))).events);
      await nextMillisecond();
    }
    const waited = await openDeliveries(database);
    const { deliveries, more, nextMs } = await claimFor(database, node);
    expect(deliveries.map((one) => one.event_id)).toEqual(recorded.map(({ id }) => id));
    expect(pairsOf(deliveries)).toEqual(waited);
    expect(deliveries.map(({ payload }) => JSON.parse(payload!).n)).toEqual(
      [0, 1, 2].flatMap((n) => [0, 1, 2, 3, 4].map((index) => `ü${n}-${index}`)),
    );
    expect(deliveries[6]).toMatchObject({
      ...{ organization_id: 'ORG-acme', webhook_id: 'WHK-1', workspace_id: 'WS-1', attempts: 0 },
      ...{ type: 'invoice.paid', delivery_created_at: recorded[6]!.created_at },
      ...{ event_created_at: recorded[6]!.created_at, group: { open: 5 } },
    });
    expect([more.size, nextMs]).toEqual([0, undefined]);
    expect((await claimFor(database, node)).deliveries).toEqual([]);
  });

  test('leases them to the node: each is written once, with its outcome, and the part ends', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 5);
    const { deliveries } = await claimFor(database, node);
    expect(await backlogSizes(database, 'leased')).toEqual([5]);
    await settleFor(database, node, [
      failedOnce(deliveries[0]!, 60_000),
      ...deliveries.slice(1, 4).map(succeeded),
    ]);
    expect(await backlogSizes(database, 'leased')).toEqual([5]);
    await settleFor(database, node, [succeeded(deliveries[4]!)]);
    expect(await backlogSizes(database)).toEqual([]);
    const rows = await deliveryRows(database);
    expect(rows.map(({ id }) => id)).toEqual(idsOf(deliveries).sort());
    expect(rows.map(({ status }) => status).sort()).toEqual(['pending', ...Array(4).fill('success')]);
  });

  test('takes as many for a webhook as there is room for; the rest of a recording keeps waiting', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 25);
    const waited = await openDeliveries(database);
    const first = await claimFor(database, node, { each: 10 });
    expect(pairsOf(first.deliveries)).toEqual(waited.slice(0, 10));
    expect([...first.more]).toEqual(['WHK-1']);
    expect([await backlogSizes(database, 'leased'), await backlogSizes(database, 'waiting')]).toEqual([
      [10],
      [15],
    ]);
    expect(await openDeliveries(database)).toEqual(waited);
    const second = await claimFor(database, node, { webhooks: new Map([['WHK-1', 15]]), each: 0 });
    expect(pairsOf(second.deliveries)).toEqual(waited.slice(10));
    expect(second.more.size).toBe(0);
    // The parts end one by one.
    await settleFor(database, node, second.deliveries.map(succeeded));
    expect(await backlogSizes(database)).toEqual([10]);
    await settleFor(database, node, first.deliveries.map(succeeded));
    expect(await backlogSizes(database)).toEqual([]);
    expect((await deliveryRows(database)).map(({ id }) => id)).toEqual(waited.map(({ id }) => id));
  });

  test('eventually returns all of many recordings, each delivery once, whatever the room', async () => {
    const { database, node } = await withNode();
    for (const size of [45, 1, 7, 300]) await recordFor(database, null, size);
    const waited = await openDeliveries(database);
    const claimed: LeasedDelivery[] = [];
    for (const each of [3, 50, 1, 200, 99]) {
      const { deliveries, more } = await claimFor(database, node, { each });
      expect(deliveries).toHaveLength(each);
      claimed.push(...deliveries);
      expect(more.size).toBe(claimed.length < 353 ? 1 : 0);
    }
    expect(pairsOf(claimed)).toEqual(waited);
    await settleFor(database, node, claimed.map(succeeded));
    expect(await backlogSizes(database)).toEqual([]);
    expect((await deliveryRows(database)).map(({ id, status }) => ({ id, status }))).toEqual(
      waited.map(({ id }) => ({ id, status: 'success' })),
    );
  });

  test('takes no more in total than there is room for, and some for each webhook', async () => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 5; n += 1) await subscribe(database, { id: `WHK-${n}` });
    await recordFor(database, null, 100);
    const claimed = await claimFor(database, node, { total: 60 });
    expect(claimed.deliveries).toHaveLength(60);
    expect(countsOf(claimed)).toEqual({ 'WHK-1': 12, 'WHK-2': 12, 'WHK-3': 12, 'WHK-4': 12, 'WHK-5': 12 });
    expect(claimed.more.size).toBe(5);
  });

  test('takes no more in total than there is room for, even if more webhooks wait than that', async () => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 20; n += 1) await subscribe(database, { id: `WHK-${n}` });
    await recordFor(database, null, 2);
    const { deliveries, more } = await claimFor(database, node, { total: 5 });
    expect(deliveries).toHaveLength(5);
    expect(more.size).toBe(20);
  });

  test('alternates between organizations, however many webhooks one has, and names all that have more', async () => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 20; n += 1) await subscribe(database, { id: `WHK-${n}` });
    await subscribe(database, { organization_id: 'ORG-small', id: 'WHK-small' });
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 4);
    await recordBatch(database, batch(eventsOf('ORG-small', 4)));
    const { deliveries, more } = await claimFor(database, node, { webhooksMax: 2 });
    const organizations = new Set(deliveries.map((one) => one.organization_id));
    expect([...organizations].sort()).toEqual(['ORG-acme', 'ORG-small']);
    expect(more.size).toBe(19);
  });

  test('gives an organization with many webhooks no better chance than one with a single webhook', async () => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 20; n += 1) await subscribe(database, { id: `WHK-${n}` });
    await subscribe(database, { organization_id: 'ORG-single', id: 'WHK-single' });
    for (const organization of ['ORG-acme', 'ORG-single'])
      await recordBatch(database, batch(eventsOf(organization, 4)));
    const undone = new Error('undone');
    let single = 0;
    for (let n = 0; n < 60; n += 1) {
      const claimed = database.transaction(async (client) => {
        const { deliveries } = await claimFor(client, node, { webhooksMax: 1 });
        const organizations = new Set(deliveries.map((one) => one.organization_id));
        expect(organizations.size).toBe(1);
        if (organizations.has('ORG-single')) single += 1;
        throw undone;
      });
      await expect(claimed).rejects.toBe(undone);
    }
    // Half of them by chance; a chance of one in 21 would be three. Fewer than ten of sixty is one in tens of millions.
    expect(single).toBeGreaterThanOrEqual(10);
  });

  test('takes the longest wait first, so that all webhooks of an organization make progress', async () => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 10; n += 1) await subscribe(database, { id: `WHK-${n}` });
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 4);
    const claimed: string[] = [];
    for (let n = 0; n < 5; n += 1)
      claimed.push(...Object.keys(countsOf(await claimFor(database, node, { each: 4, webhooksMax: 2 }))));
    expect([claimed.length, new Set(claimed).size]).toEqual([10, 10]);
  });

  test('gives retries at most half of the room of a webhook, and new deliveries the rest', async () => {
    const { database, node } = await withNode();
    await retries(database, node, 30);
    await recordFor(database, null, 30);
    const { deliveries } = await claimFor(database, node, { each: 10 });
    expect(deliveries.filter(({ attempts }) => attempts > 0)).toHaveLength(5);
    expect(deliveries.filter(({ attempts }) => attempts === 0)).toHaveLength(5);
  });

  test('gives new deliveries all the room that retries do not need', async () => {
    const { database, node } = await withNode();
    await retries(database, node, 2);
    await recordFor(database, null, 30);
    const { deliveries } = await claimFor(database, node, { each: 10 });
    expect(deliveries.filter(({ attempts }) => attempts > 0)).toHaveLength(2);
    expect(deliveries).toHaveLength(10);
  });

  test('reports when the next retry is due', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 2);
    await settleFor(database, node, [failedOnce(leased[0]!, 60_000), failedOnce(leased[1]!, 30_000)]);
    const ahead = await claimFor(database, node);
    expect(ahead.deliveries).toEqual([]);
    expect(ahead.nextMs).toBeGreaterThan(20_000);
    // Not 30 s: the clocks of two cores can differ by some microseconds.
    expect(ahead.nextMs).toBeLessThan(40_000);
    await recordFor(database, null, 1);
    const both = await claimFor(database, node);
    expect(both.deliveries).toHaveLength(1);
    expect(both.nextMs).toBeLessThan(40_000);
  });

  describe('limited by bytes', () => {
    const sized = (count: number, bytes: number) =>
      Array.from({ length: count }, () => event({ payload: { filler: 'x'.repeat(bytes) } }));

    test('takes no more than that, some for each webhook, and reports that it left some', async () => {
      const { database, node } = await withNode();
      await subscribe(database, { id: 'WHK-2' });
      for (let n = 0; n < 5; n += 1) await recordBatch(database, batch(sized(1, 100 * kilobyte)));
      const claimed = await claimFor(database, node, { bytesMax: 350 * kilobyte });
      expect(countsOf(claimed)).toEqual({ 'WHK-1': 2, 'WHK-2': 2 });
      expect([...claimed.more].sort()).toEqual(['WHK-1', 'WHK-2']);
    });

    test('takes a part of a larger recording', async () => {
      const { database, node } = await withNode();
      await recordBatch(database, batch(sized(20, 100 * kilobyte)));
      const { deliveries, more } = await claimFor(database, node, { bytesMax: 550 * kilobyte });
      expect([deliveries.length, [...more]]).toEqual([5, ['WHK-1']]);
    });

    test('takes one delivery of any size, and the rest with later claims', async () => {
      const { database, node } = await withNode();
      await subscribe(database, { id: 'WHK-2' });
      await recordBatch(database, batch(sized(2, 100 * kilobyte)));
      const claimed: string[] = [];
      for (let isMore = true; isMore; ) {
        const { deliveries, more } = await claimFor(database, node, { bytesMax: 1 });
        expect(deliveries).toHaveLength(1);
        claimed.push(...idsOf(deliveries));
        isMore = more.size > 0;
      }
      expect(new Set(claimed).size).toBe(4);
      expect(await claimFor(database, node, { bytesMax: 1 })).toMatchObject({ deliveries: [] });
    });

    test('treats retries the same', async () => {
      const { database, node } = await withNode();
      const { leased } = await recordBatch(database, batch(sized(6, 100 * kilobyte)), roomOf(node));
      await settleFor(
        database,
        node,
        leased.map((one) => failedOnce(one, 0)),
      );
      const { deliveries, more } = await claimFor(database, node, { bytesMax: 250 * kilobyte });
      expect([deliveries.length, [...more]]).toEqual([3, ['WHK-1']]);
    });
  });

  test('skips webhooks without room and those that are not verified', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 4);
    const full = await claimFor(database, node, { webhooks: new Map([['WHK-1', 0]]) });
    expect([full.deliveries, full.more.size]).toEqual([[], 0]);
    await changeWebhook(database, webhook, { status: 'unverified' });
    expect((await claimFor(database, node)).deliveries).toEqual([]);
  });

  test('of two nodes at once takes nothing twice', async () => {
    const { database, node } = await withNode();
    const other = await registerNode(database, 60_000);
    for (let n = 0; n < 40; n += 1) await recordFor(database, null, 4);
    await retries(database, node, 40);
    const claimed: string[] = [];
    while (claimed.length < 200) {
      const claims = await Promise.all([node, other].map((one) => claimFor(database, one, { each: 6 })));
      for (const { deliveries } of claims) claimed.push(...idsOf(deliveries));
    }
    expect(new Set(claimed).size).toBe(200);
    expect(claimed).toHaveLength(200);
  });

  test('returns deliveries that lost their event without a payload, so that they can end', async () => {
    const { database, node } = await withNode();
    const { events } = await recordFor(database, null, 4);
    await database.query({
      text: 'delete from posthorn.events where id = any ($1)',
      values: [events.slice(1).map(({ id }) => id)],
    });
    const { deliveries } = await claimFor(database, node);
    expect(deliveries.map(({ payload }) => payload !== null).sort()).toEqual([false, false, false, true]);
  });
});

describe('the cost of a claim', () => {
  interface Plan {
    'Actual Rows': number;
    'Shared Hit Blocks': number;
    'Shared Read Blocks': number;
  }

  /**
   * Returns how many pages a claim of so many deliveries touches; what it claims is put back. The fewest of several
   * claims: the first one of a connection also reads the catalogue, and so does one whose plans an autovacuum discarded.
   */
  async function pagesOf(database: Database, node: number, room: number, claimed: number): Promise<number> {
    const pages = [];
    for (let n = 0; n < 3; n += 1) pages.push(await pagesOfOne(database, node, room, claimed));
    return Math.min(...pages);
  }

  async function pagesOfOne(
    database: Database,
    node: number,
    room: number,
    claimed: number,
  ): Promise<number> {
    let pages = 0;
    const undone = new Error('undone');
    const explained = database.transaction(async (client) => {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>({
        text: `
  explain (analyze, buffers, format json)
  select * from posthorn.claim(${node}, null, ${room}, ${room}, 100, ${many}, 0.5)`,
      });
      const [{ Plan: plan }] = JSON.parse(rows[0]!['QUERY PLAN']) as [{ Plan: Plan }];
      // The last row reports on the claim.
      expect(plan['Actual Rows']).toBe(claimed + 1);
      pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      throw undone;
    });
    await expect(explained).rejects.toBe(undone);
    return pages;
  }

  test('of a few recordings does not grow with the number waiting', async () => {
    const pages = async (copies: number) => {
      const { database, node } = await withNode();
      for (let n = 0; n < 40; n += 1) await recordFor(database, null, 4);
      await database.query({
        text: `
  insert into posthorn.backlog
         (organization_id, webhook_id, created_at, head, first, event_base, base, ordinals, bytes)
  select organization_id, webhook_id, created_at + n * interval '1 hour', head, first, event_base, base, ordinals, bytes
    from posthorn.backlog cross join generate_series(1, $1::int) n`,
        values: [copies],
      });
      // A claim also reads the rows that other tests deleted.
      await database.query({ text: 'vacuum posthorn.backlog' });
      return pagesOf(database, node, 40, 40);
    };
    expect(await pages(500)).toBeLessThan(2 * (await pages(10)));
  });

  test('of 100 retries does not grow with the number due', async () => {
    const pages = async (count: number) => {
      const { database, node } = await withNode();
      await recordFor(database, node, 1);
      const written = {
        text: `
  insert into posthorn.deliveries
         (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, attempts)
  select 'ORG-acme', 'WHK-1', now(), 'WDLV-' || n, 'EVT-' || n, 'invoice.paid', now(), now() - interval '1 minute', 1
    from generate_series(1, $1::int) n`,
        values: [count],
      };
      await database.query(written);
      await database.query({ text: 'vacuum analyze posthorn.deliveries' });
      // Half of the room is for retries.
      return pagesOf(database, node, 200, 100);
    };
    // Larger indexes are a level deeper: each of the rows is found and written through one page more.
    expect(await pages(10_000)).toBeLessThan(2 * (await pages(200)));
  });

  /** Adds a retry for each of `count` webhooks that the node does not know. */
  async function addRetries(database: Database, count: number, due: string): Promise<void> {
    await database.query({
      text: `
  insert into posthorn.deliveries
         (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, attempts)
  select 'ORG-acme', 'WHK-other-' || n, now(), 'WDLV-' || n, 'EVT-' || n, 'task.created', now(),
         now() + $2::interval, 1
    from generate_series(1, $1::int) n`,
      values: [count, due],
    });
  }

  test.each([
    { cost: 'none', due: 'later', count: 500, interval: '1 hour', rowsMax: 50 },
    { cost: 'a few rows', due: 'now', count: 2_000, interval: '0 hours', rowsMax: 3 * 2_000 },
  ])('is $cost for each webhook whose retries are due $due', async ({ count, interval, rowsMax }) => {
    const { database, url } = await freshDatabase();
    const node = await registerNode(database, 60_000);
    await subscribe(database);
    await retries(database, node, 1);
    await recordText(database, JSON.stringify(eventsOf('ORG-acme', 1)));
    await addRetries(database, count, interval);
    const explained = await ExplainedClient.open(url);
    const { deliveries } = await claimFor(explained, node);
    expect(deliveries).toHaveLength(2);
    expect(explained.rowsReadMax()).toBeLessThan(rowsMax);
  });

  test('is a few rows for each delivery, however many it leases and webhooks the node knows', async () => {
    // What other tests left behind changes the plans.
    const { database, url } = await freshDatabase();
    const node = await registerNode(database, 60_000);
    await subscribe(database);
    const each = 200;
    await retries(database, node, each);
    const one = `perform posthorn.record_event('task.created', 'ORG-acme', '{"type": "user", "id": "USR-1"}',
                   '{"type": "task", "id": "TSK-1"}', '{}')`;
    await database.query({ text: `do $$ begin for n in 1..${each} loop ${one}; end loop; end $$` });
    const webhooks = new Map<string, number>();
    for (let n = 0; n < each; n += 1) {
      const { id } = await subscribe(database, { organization_id: 'ORG-many', id: `WHK-many-${n}` });
      webhooks.set(id, 10);
    }
    await recordText(database, JSON.stringify(eventsOf('ORG-many', 1)));
    const explained = await ExplainedClient.open(url);
    const { deliveries } = await claimFor(explained, node, { webhooks, webhooksMax: many });
    expect(deliveries).toHaveLength(3 * each);
    expect(explained.rowsReadMax()).toBeLessThan(10 * deliveries.length);
  });
});
