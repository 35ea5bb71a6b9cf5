import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Claimer, type Left } from '../../src/delivery/claimer.js';
import { Dispatcher } from '../../src/delivery/dispatcher.js';
import { claimBundles, claimDeliveries } from '../../src/storage/claims.js';
import type { Database } from '../../src/storage/database.js';
import type { LeasedDelivery } from '../../src/storage/leased-delivery.js';
import { recordBatch } from '../../src/storage/recording.js';
import { deliveryRows, recordFor, subscribe, withNode } from '../support/bundles.js';
import { batch, event } from '../support/client.js';
import { eventually } from '../support/tenant.js';

// The poll would find everything in the end; here it never comes round.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval'] }));
afterEach(() => void vi.useRealTimers());

/** A node whose receivers answer after a moment. */
function nodeOn(database: Database, node: number) {
  const attempted: LeasedDelivery[] = [];
  const dispatcher: Dispatcher = new Dispatcher({
    run: async (delivery) => {
      attempted.push(delivery);
      await new Promise((answered) => setTimeout(answered, 1));
      return 'delivered';
    },
    mayStart: () => true,
    onRoom: () => claimer.wakeSoon(),
    onSurplus: () => undefined,
  });
  const claimer = new Claimer(database, pino({ level: 'silent' }), {
    node: () => node,
    room: () => dispatcher.room,
    standing: () => dispatcher.standing(),
    onAnnounced: (shares) => dispatcher.announced(shares),
    onDue: (deliveries) => dispatcher.add(deliveries, true),
    onBundled: (deliveries) => dispatcher.add(deliveries),
    onLeft: (left) => dispatcher.expect(left),
  });
  onTestFinished(() => claimer.stop());
  const all = (count: number) =>
    eventually(
      async () => attempted.length,
      (attempts) => attempts === count,
    );
  return { claimer, dispatcher, attempted, all };
}

const eventsOf = (organization_id: string, count: number) =>
  batch(Array.from({ length: count }, () => event({ organization_id })));

describe('without waiting for a poll, a node claims', () => {
  test.each([
    ['bundles', 4],
    ['rows', 3],
  ])('all of many webhooks that have a few each, in %s', async (_, each) => {
    const { database, node } = await withNode();
    const webhooks = 250;
    for (let n = 0; n < webhooks; n += 1) {
      await subscribe(database, { organization_id: `ORG-${n}`, id: `WHK-x${n}` });
      await recordBatch(database, eventsOf(`ORG-${n}`, each));
    }
    const { claimer, all } = nodeOn(database, node);
    claimer.start();
    await all(webhooks * each);
  });

  test('what it opened, also beside a bundle that it leased', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { organization_id: 'ORG-b', id: 'WHK-b' });
    await recordFor(database, null, 4);
    await recordBatch(database, eventsOf('ORG-b', 150));
    const { claimer, all } = nodeOn(database, node);
    claimer.start();
    await all(154);
  });

  test('a backlog to its end, bundle after bundle', async () => {
    const { database, node } = await withNode();
    for (let n = 0; n < 12; n += 1) await recordFor(database, null, 1_000);
    const { claimer, all, attempted } = nodeOn(database, node);
    claimer.start();
    await all(12_000);
    expect(new Set(attempted.map((one) => one.delivery_id)).size).toBe(12_000);
  });
});

test.each([
  ['bundles', 4],
  ['rows', 1],
])(
  'an organization with many webhooks has no better a chance than one with a single one: %s',
  async (_, each) => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 20; n += 1) await subscribe(database, { id: `WHK-${n}` });
    await subscribe(database, { organization_id: 'ORG-single', id: 'WHK-single' });
    for (const organization of ['ORG-acme', 'ORG-single'])
      await recordBatch(database, eventsOf(organization, each));
    const claim = { node, busy: [], perWebhook: 100, webhooksMax: 1, bytesMax: 1_000_000 };
    const undone = new Error('undone');
    let single = 0;
    for (let n = 0; n < 60; n += 1) {
      const claimed = database.transaction(async (client) => {
        const due = await claimDeliveries(client, { ...claim, notBefore: new Date(0) });
        const bundled = await claimBundles(client, { ...claim, answering: [], firstMax: 100, furtherMax: 0 });
        const organizations = [...due.deliveries, ...bundled.deliveries].map((one) => one.organization_id);
        expect(new Set(organizations).size).toBe(1);
        if (organizations[0] === 'ORG-single') single += 1;
        throw undone;
      });
      await expect(claimed).rejects.toBe(undone);
    }
    // Half of them by chance; a chance of one in 21 would be three. Fewer than ten of sixty is one in tens of millions.
    expect(single).toBeGreaterThanOrEqual(10);
  },
);

test('bundles of a webhook that answers are not opened because some rows of it are due', async () => {
  const { database, node } = await withNode();
  const { claimer, dispatcher, all } = nodeOn(database, node);
  await recordFor(database, null, 80);
  claimer.start();
  await all(80);
  await eventually(
    async () => dispatcher.inFlight,
    (inFlight) => inFlight === 0,
  );
  for (let n = 0; n < 30; n += 1) await recordFor(database, null, 3);
  await recordFor(database, null, 1_000);
  claimer.wake();
  await all(80 + 90 + 1_000);
  expect(await deliveryRows(database)).toHaveLength(90);
});

test('a claim that had no room to look at every webhook says so', async () => {
  const { database, node } = await withNode();
  await subscribe(database, { id: 'WHK-2' });
  for (let n = 0; n < 40; n += 1) await recordFor(database, null, 3);
  let room = 100;
  let told: (left: Left) => void = () => undefined;
  const claimer = new Claimer(database, pino({ level: 'silent' }), {
    ...{ node: () => node, room: () => room, onDue: () => undefined, onBundled: () => undefined },
    standing: () => ({ busy: [], busyWithDue: [], answering: [] }),
    onAnnounced: () => true,
    onLeft: (left) => told(left),
  });
  onTestFinished(() => claimer.stop());
  const claim = () =>
    new Promise<Left['due']>((resolve) => {
      told = ({ due }) => resolve(due);
      claimer.wake();
    });
  const first = await claim();
  expect([first.complete, first.more.size]).toEqual([false, 1]);
  room = 30_000;
  // The one has 20 left, the other all of its 120.
  const second = await claim();
  expect([second.complete, second.more.size]).toEqual([true, 1]);
  expect(second.more).not.toEqual(first.more);
});

test('beside many webhooks that have more than they can send, what waits for another is claimed', async () => {
  const { database, node } = await withNode();
  const greedy = Array.from({ length: 40 }, (_, index) => `WHK-greedy-${index}`);
  let isStuck = false;
  const dispatcher = new Dispatcher({
    run: async () => 'delivered',
    mayStart: () => !isStuck,
    onRoom: () => undefined,
    onSurplus: () => undefined,
  });
  const { leased } = await recordFor(database, node, 100);
  const of = (id: string) => leased.map((one) => ({ ...one, organization_id: id, webhook_id: id }));
  dispatcher.add(greedy.flatMap((id) => of(id)));
  await eventually(
    async () => dispatcher.inFlight,
    (inFlight) => inFlight === 0,
  );
  isStuck = true;
  for (let round = 0; round < 100; round += 1) {
    for (const id of greedy) if (!dispatcher.placement(node).saturated.includes(id)) dispatcher.add(of(id));
  }
  await recordFor(database, null, 50);
  const claimed = await new Promise<number>((resolve) => {
    const claimer = new Claimer(database, pino({ level: 'silent' }), {
      ...{ node: () => node, room: () => dispatcher.room, standing: () => dispatcher.standing() },
      ...{ onAnnounced: () => true, onDue: () => undefined, onLeft: () => undefined },
      onBundled: (deliveries) => resolve(deliveries.length),
    });
    onTestFinished(() => claimer.stop());
    claimer.wake();
  });
  expect(claimed).toBe(50);
});
