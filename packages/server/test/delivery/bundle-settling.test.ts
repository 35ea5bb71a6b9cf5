import fc from 'fast-check';
import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Entry, Settler, type SettlerOptions } from '../../src/delivery/settler.js';
import { webhookDisabled } from '../../src/domain/own-event.js';
import { claimDeliveries } from '../../src/storage/claims.js';
import { Database, type Queryable, type Statement } from '../../src/storage/database.js';
import { readDelivery } from '../../src/storage/delivery-history.js';
import { DeliveryCounter } from '../../src/storage/delivery-stats.js';
import type { LeasedDelivery } from '../../src/storage/leased-delivery.js';
import { registerNode, releaseDeadNodes, retireNodes } from '../../src/storage/nodes.js';
import { recordBatch } from '../../src/storage/recording.js';
import { settleBundled } from '../../src/storage/settlements.js';
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
import { freshDatabase } from '../support/database.js';
import { eventually } from '../support/tenant.js';

/** Fails as often as it is told to, in the moment it is told to. */
class FalteringDatabase extends Database {
  beforeCommit = 0;
  /** The name under which nothing can be written, once. */
  node: number | undefined;

  override query<Row extends object>(statement: Statement) {
    if (this.node !== undefined && statement.values?.[0] === this.node) {
      this.node = undefined;
      throw new Error('no connection');
    }
    return super.query<Row>(statement);
  }

  override transaction<T>(work: (client: Queryable) => Promise<T>): Promise<T> {
    return super.transaction(async (client) => {
      const result = await work(client);
      if (this.beforeCommit > 0) {
        this.beforeCommit -= 1;
        throw new Error('no commit');
      }
      return result;
    });
  }
}

describe('the settler', () => {
  async function prepared(options: Partial<SettlerOptions> = {}) {
    const { database, url, node } = await withNode();
    const faltering = new FalteringDatabase({ connectionString: url });
    onTestFinished(() => faltering.close());
    const done = () => Promise.resolve();
    const settler = new Settler(faltering, pino({ level: 'silent' }), {
      ...{
        beforeWriting: done,
        afterWriting: done,
        onRetries: () => undefined,
        onRecorded: () => undefined,
        onDisabled: () => undefined,
      },
      placement: () => ({ node: null, saturated: [] }),
      ...options,
    });
    const write = async (entries: readonly Entry[]) => {
      for (const entry of entries) settler.add(entry);
      await settler.drain(performance.now() + 20_000);
    };
    return { database, faltering, node, settler, write };
  }

  test('writes, before it is told of, all whose health was told of before it wrote', async () => {
    const late: Entry[] = [];
    const { database, node, settler } = await prepared({
      beforeWriting: async () => {
        for (const entry of late.splice(0)) settler.add(entry);
      },
      afterWriting: async () => void written.push((await deliveryRows(database)).length),
    });
    const written: number[] = [];
    const { leased } = await recordFor(database, node, 4);
    const [first, ...others] = leased.map((delivery): Entry => ({ node, settlement: succeeded(delivery) }));
    late.push(...others);
    settler.add(first!);
    await settler.drain(performance.now() + 20_000);
    expect(written).toEqual([4]);
  });

  test('does not let one outcome that the database refuses keep the others from being written', async () => {
    const { database, node, settler } = await prepared();
    const { leased } = await recordFor(database, node, 10);
    const entries = leased.map((delivery): Entry => ({ node, settlement: succeeded(delivery) }));
    const { settlement } = entries[4]!;
    settlement.attempts = 6;
    for (const entry of entries) settler.add(entry);
    await eventually(
      () => deliveryRows(database),
      (rows) => rows.length === 9,
    );
    expect(await bundleSizes(database)).toEqual([10]);
    settlement.attempts = 1;
    await settler.drain(performance.now() + 20_000);
    expect(await deliveryRows(database)).toHaveLength(10);
    expect(await bundleSizes(database)).toEqual([]);
  });

  test('keeps count of a bundle although a transaction with outcomes of it was rolled back', async () => {
    const { database, faltering, node, write } = await prepared();
    const { leased } = await recordFor(database, node, 6);
    const entries = leased.map((delivery): Entry => ({ node, settlement: succeeded(delivery) }));
    const told = { id: 'WHK-2', organization_id: 'ORG-acme', workspace_id: null };
    entries[0]!.event = { ...webhookDisabled(told, 'gone'), undelivered: true };
    faltering.beforeCommit = 2;
    await write(entries.slice(0, 3));
    expect(faltering.beforeCommit).toBe(0);
    expect(await deliveryRows(database)).toHaveLength(3);
    expect(await bundleSizes(database)).toEqual([6]);
    await write(entries.slice(3));
    expect(await deliveryRows(database)).toHaveLength(6);
    expect(await bundleSizes(database)).toEqual([]);
  });

  test('is behind while thousands of outcomes are not written yet', async () => {
    const { database, node, settler } = await prepared();
    const { leased } = await recordFor(database, node, 3_000);
    for (const delivery of leased.slice(1)) settler.add({ node, settlement: succeeded(delivery) });
    expect(settler.isBehind).toBe(false);
    settler.add({ node, settlement: succeeded(leased[0]!) });
    expect(settler.isBehind).toBe(true);
    await settler.drain(performance.now() + 20_000);
    expect(settler.isBehind).toBe(false);
  });

  test('tells of retries once they are written, also where outcomes under another name then fail', async () => {
    const told: string[][] = [];
    const { database, faltering, node, write } = await prepared({
      onRetries: (webhooks) => void told.push(webhooks.map(({ id }) => id)),
    });
    const other = await registerNode(database, 60_000);
    const { leased: ours } = await recordFor(database, node, 4);
    const { leased: theirs } = await recordFor(database, other, 4);
    faltering.node = other;
    await write([
      ...ours.map((delivery) => ({ node, settlement: failedOnce(delivery, 60_000) })),
      ...theirs.map((delivery) => ({ node: other, settlement: succeeded(delivery) })),
    ]);
    expect(faltering.node).toBeUndefined();
    expect(told).toEqual([['WHK-1'], []]);
  });

  test('keeps count of a bundle although outcomes under another name, written with it, failed', async () => {
    const { database, faltering, node, write } = await prepared();
    const other = await registerNode(database, 60_000);
    const { leased: ours } = await recordFor(database, node, 10);
    const { leased: theirs } = await recordFor(database, other, 4);
    const entry = (name: number) => (delivery: LeasedDelivery) => ({
      node: name,
      settlement: succeeded(delivery),
    });
    faltering.node = other;
    await write([...ours.slice(0, 3).map(entry(node)), ...theirs.map(entry(other))]);
    expect(faltering.node).toBeUndefined();
    expect(await bundleSizes(database)).toEqual([10]);
    // Counted twice, these would seem to be the last.
    await write(ours.slice(3, 7).map(entry(node)));
    expect(await bundleSizes(database)).toEqual([10]);
    await write(ours.slice(7).map(entry(node)));
    expect(await bundleSizes(database)).toEqual([]);
    expect(await deliveryRows(database)).toHaveLength(14);
  });
});

test('of a bundle that is partly settled each delivery is told of once, as it stands', async () => {
  const { database, node } = await withNode();
  const { leased } = await recordFor(database, node, 6);
  const webhook = { organization_id: 'ORG-acme', webhook_id: 'WHK-1' };
  const cancelled = { delivery: leased[2]!, status: 'cancelled', attempts: 0 } as const;
  await settle(database, node, [succeeded(leased[0]!), failedOnce(leased[1]!, 3_600_000), cancelled]);
  expect(await bundleSizes(database)).toEqual([6]);
  const now = new Date(Date.now() + 1_000);
  const counter = new DeliveryCounter(database);
  expect(await counter.read(webhook, new Date(now.getTime() - 3_600_000), now)).toMatchObject({
    ...{ success: 1, failed: 0, pending: 1 + 3 },
    oldest_undelivered_at: leased[0]!.delivery_created_at,
  });
  const told = [];
  for (const { delivery_id: id, delivery_created_at: at } of leased) {
    told.push((await readDelivery(database, { ...webhook, id, createdMs: at.getTime() }))?.status);
  }
  expect(told).toEqual(['success', 'pending', undefined, 'pending', 'pending', 'pending']);
});

test('a node of the version before records and settles beside the others, and releases their bundles', async () => {
  const { database, node } = await withNode();
  const old = await registerNode(database, 60_000);
  const { leased } = await recordFor(database, node, 5);
  const { rows } = await database.query<LeasedDelivery & { created_at: Date }>({
    text: "select * from posthorn.record_and_lease($1, $2, '{}')",
    values: [JSON.stringify(Array.from({ length: 5 }, () => event())), old],
  });
  const theirs = rows.map((row) => ({
    ...{ ...row, organization_id: 'ORG-acme', delivery_created_at: row.created_at, attempts: 0 },
  }));
  expect(await bundleSizes(database)).toEqual([5]);
  expect(await settle(database, old, theirs.map(succeeded))).toHaveLength(5);
  await retireNodes(database, [node]);
  expect(await releaseDeadNodes(database)).toBe(5);
  const released = (await deliveryRows(database)).filter(({ status }) => status === 'pending');
  expect(released.map(({ id }) => id)).toEqual(leased.map(({ delivery_id: id }) => id).sort());
});

describe('settling a bundle while its node is taken for dead', () => {
  async function prepared() {
    const { database, url, node } = await withNode();
    const { leased } = await recordFor(database, node, 6);
    await retireNodes(database, [node]);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('begin');
    const aside: Queryable = { query: (statement) => client.query(statement) };
    const isWaiting = (name: string) =>
      eventually(
        async () => {
          const { rows } = await database.query<{ waiting: number }>({
            text: `
  select count(*) as waiting from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock' and query like '%posthorn.' || $1 || '(%'`,
            values: [name],
          });
          return rows[0]!.waiting;
        },
        (waiting) => waiting === 1,
      );
    return { database, node, leased, client, aside, isWaiting };
  }

  test.each([
    ['commit', 3],
    ['rollback', 6],
  ])('is passed over by a release until its %s; then nothing is lost or doubled', async (end, released) => {
    const { database, node, leased, client, aside } = await prepared();
    expect(await settle(aside, node, leased.slice(0, 3).map(succeeded))).toHaveLength(3);
    expect(await releaseDeadNodes(database)).toBe(0);
    await client.query(end);
    expect(await releaseDeadNodes(database)).toBe(released);
    const rows = await deliveryRows(database);
    expect(rows.map(({ id }) => id)).toEqual(leased.map(({ delivery_id: id }) => id).sort());
    expect(rows.filter(({ status }) => status === 'success')).toHaveLength(6 - released);
    expect(await bundleSizes(database)).toEqual([]);
  });

  test.each([
    ['commit', 0],
    ['rollback', 6],
  ])(
    'waits for the %s of a release that came first, and knows then whose the bundle is',
    async (end, settled) => {
      const { database, node, leased, client, aside, isWaiting } = await prepared();
      expect(await releaseDeadNodes(aside)).toBe('6');
      const settling = settle(database, node, leased.map(succeeded));
      await isWaiting('settle_bundled');
      await client.query(end);
      expect(await settling).toHaveLength(settled);
      const rows = await deliveryRows(database);
      expect(rows.map(({ id }) => id)).toEqual(leased.map(({ delivery_id: id }) => id).sort());
      expect(rows.filter(({ status }) => status === 'success')).toHaveLength(settled);
      expect(await bundleSizes(database)).toEqual([]);
    },
  );
});

describe('whatever is recorded, and in whatever order it is settled', () => {
  const story = fc.record({
    webhooks: fc.array(fc.constantFrom(['*'], ['invoice.*'], ['task.created']), {
      minLength: 1,
      maxLength: 3,
    }),
    batches: fc.array(
      fc.array(fc.constantFrom('invoice.paid', 'task.created'), { minLength: 1, maxLength: 9 }),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
    order: fc.infiniteStream(fc.nat()),
    /** How many are settled with one statement, and whether its answer is lost. */
    portions: fc.array(fc.record({ size: fc.integer({ min: 1, max: 7 }), lost: fc.boolean() }), {
      maxLength: 12,
    }),
  });

  test('a node may die at any point: every delivery is one row in the end, and no bundle stays', async () => {
    const { database } = await freshDatabase();
    let run = 0;
    const property = fc.asyncProperty(story, async ({ webhooks, batches, order, portions }) => {
      run += 1;
      const organization_id = `ORG-${run}`;
      for (const [n, event_types] of webhooks.entries())
        await subscribe(database, { organization_id, id: `WHK-${run}-${n}`, event_types });
      const node = await registerNode(database, 60_000);
      const all: LeasedDelivery[] = [];
      for (const types of batches) {
        const events = batch(types.map((type) => event({ type, organization_id })));
        all.push(...(await recordBatch(database, events, { node, saturated: [] })).leased);
      }
      const shuffled = all.map((one) => ({ one, at: order.next().value })).sort((a, b) => a.at - b.at);
      const left = shuffled.map(({ one }) => one);
      const settledFirst: string[] = [];
      for (const { size, lost } of portions) {
        const portion = left.splice(0, size).map(succeeded);
        const bundled = portion.filter(({ delivery }) => delivery.bundle);
        if (lost && bundled.length > 0)
          await settleBundled(database, node, bundled, { again: false, answer: false });
        await settle(database, node, portion, lost);
        settledFirst.push(...portion.map(({ delivery }) => delivery.delivery_id));
      }

      await retireNodes(database, [node]);
      expect(await releaseDeadNodes(database)).toBe(left.length);
      const heir = await registerNode(database, 60_000);
      const claim = { ...{ node: heir, busy: [], perWebhook: 100, webhooksMax: 100 }, bytesMax: 1_000_000 };
      const notBefore = new Date(Date.now() - 86_400_000);
      const { deliveries } = await claimDeliveries(database, { ...claim, notBefore });
      const ids = (some: readonly LeasedDelivery[]) => some.map(({ delivery_id: id }) => id).sort();
      expect(ids(deliveries)).toEqual(ids(left));
      await settle(database, heir, deliveries.map(succeeded));

      const rows = (await deliveryRows(database)).filter((row) => row.organization_id === organization_id);
      expect(rows.map(({ id }) => id)).toEqual(ids(all));
      expect(rows.every(({ status, attempts }) => status === 'success' && attempts === 1)).toBe(true);
      expect([...settledFirst, ...ids(left)].sort()).toEqual(ids(all));
      expect(await bundleSizes(database)).toEqual([]);
    });
    await fc.assert(property, { numRuns: 25 });
  });
});
