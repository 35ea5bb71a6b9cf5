import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import {
  countOtherNodes,
  registerNode,
  releaseDeadNodes,
  releaseLeases,
  renewNode,
  retireNodes,
} from '../../src/cells/node-store.js';
import { NodeLease } from '../../src/engine/lease.js';
import { type LeasedDelivery, recordBatch } from '../../src/events/recording-store.js';
import { readOverview, readStoreFigures } from '../../src/operations/overview-store.js';
import type { Database, Queryable, Statement } from '../../src/postgres/database.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import {
  backlogSizes,
  bury,
  claimFor,
  deliveryRows,
  failedOnce,
  handoffSizes,
  idsOf,
  many,
  recordFor,
  roomOf,
  settleFor,
  settleUnheard,
  subscribe,
  succeeded,
  withNode,
} from '../support/deliveries.js';
import { ExplainedClient } from '../support/explained-client.js';
import { setLimits } from '../support/limits.js';

describe('an ID that a node gave up', () => {
  const expire = (database: Queryable, id: number) =>
    database.query({
      text: "update posthorn.nodes set alive_until = now() - interval '1 s' where id = $1",
      values: [id],
    });

  test('keeps its leases until they end, but is neither counted nor reported as a dead node', async () => {
    const { database, node: other } = await withNode();
    const process = randomUUID();
    const givenUp = await registerNode(database, 60_000, process);
    await recordFor(database, givenUp, 3);
    const current = await registerNode(database, 60_000, process);
    expect((await readStoreFigures(database)).nodes).toBe(2);
    expect(await countOtherNodes(database, current)).toBe(1);
    const { nodes } = await readOverview(database, 1, undefined);
    expect(nodes.map(({ id }) => id)).toEqual([other, current]);
    expect(await releaseDeadNodes(database, many)).toEqual({ released: 0, overdue: [] });
    await expire(database, givenUp);
    expect(await releaseDeadNodes(database, many)).toEqual({ released: 3, overdue: [] });
  });

  test('does not hide the death of its node', async () => {
    const { database } = await withNode();
    const process = randomUUID();
    const givenUp = await registerNode(database, 60_000, process);
    const current = await registerNode(database, 60_000, process);
    await recordFor(database, current, 3);
    for (const id of [givenUp, current]) await expire(database, id);
    expect(await releaseDeadNodes(database, many)).toEqual({ released: 3, overdue: [current] });
  });

  test('ends with its node, which releases the leases of both', async () => {
    setLimits({ renewEveryMs: 1 });
    const { database, node: other } = await withNode();
    const changes = new EventEmitter();
    const options = { database, logger: pino({ level: 'silent' }), attemptMs: 60_000 };
    const lease = new NodeLease(options, (change) => changes.emit(change));
    await lease.start(false);
    const before = lease.id!;
    await recordFor(database, before, 3);
    const renewed = once(changes, 'renewed');
    lease.abandon();
    await renewed;
    await recordFor(database, lease.id!, 4);
    expect(lease.id).toBeGreaterThan(before);
    expect((await readStoreFigures(database)).nodes).toBe(2);
    await lease.stop();
    expect((await readOverview(database, 1, undefined)).nodes.map(({ id }) => id)).toEqual([other]);
    expect([await handoffSizes(database), await backlogSizes(database, 'waiting')]).toEqual([[], [3, 4]]);
  });
});

test('nodes share the rate limit of a webhook, and each may send at least one request per second', async () => {
  const { database } = await withNode();
  await registerNode(database, 60_000);
  const options = { database, logger: pino({ level: 'silent' }), attemptMs: 60_000 };
  const lease = new NodeLease(options, () => undefined);
  await lease.start(false);
  expect([300, 3, 2, undefined].map((limit) => lease.shareOf(limit))).toEqual([100, 1, 1, undefined]);
  await lease.stop();
});

test('a node starts although the deliveries of dead nodes cannot be released yet, and then tries fewer at a time', async () => {
  setLimits({ renewEveryMs: 1, releaseDeliveries: 20, releaseDeliveriesMin: 4 });
  const { database, node } = await withNode();
  await recordFor(database, node, 3);
  await retireNodes(database, [node]);
  const tried: unknown[] = [];
  const busy = {
    query: (statement: Statement) => {
      if (statement.name !== 'release leases') return database.query(statement);
      tried.push(statement.values?.[0]);
      if (tried.length < 5) throw Object.assign(new Error('it took too long'), { code: '57014' });
      return database.query(statement);
    },
  };
  const changes = new EventEmitter();
  const options = { database: busy as Database, logger: pino({ level: 'silent' }), attemptMs: 60_000 };
  const lease = new NodeLease(options, (change) => changes.emit(change));
  const released = once(changes, 'released');
  await lease.start(false);
  expect(lease.coversAttempt).toBe(true);
  await released;
  await lease.stop();
  expect(tried.slice(0, 5)).toEqual([20, 10, 5, 4, 4]);
});

test('the search for dead nodes reads a few rows for each node, however many deliveries are leased', async () => {
  const { database, url, node } = await withNode();
  for (const one of [node, await registerNode(database, 60_000)]) {
    const { leased } = await recordFor(database, one, 200);
    await settleFor(
      database,
      one,
      leased.map((delivery) => failedOnce(delivery, 0)),
    );
    expect((await claimFor(database, one)).deliveries).toHaveLength(200);
  }
  const explained = await ExplainedClient.open(url);
  expect(Number(await releaseLeases(explained, many))).toBe(0);
  expect(explained.rowsReadMax()).toBeLessThan(20);
});

describe('when a node is declared dead', () => {
  test('its settled deliveries stay as they are, and other nodes get the rest of a hand-off', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 6);
    await settleFor(database, node, [succeeded(leased[0]!), failedOnce(leased[1]!, 3_600_000)]);
    const before = await deliveryRows(database);
    expect(await bury(database, [node])).toBe(4);
    expect(await deliveryRows(database)).toEqual(before);
    expect([await handoffSizes(database), await backlogSizes(database, 'waiting')]).toEqual([[], [4]]);

    const alive = await registerNode(database, 60_000);
    const { deliveries } = await claimFor(database, alive);
    expect(idsOf(deliveries)).toEqual(idsOf(leased.slice(2)));
    expect(deliveries.map(({ payload }) => payload)).toEqual(leased.slice(2).map(({ payload }) => payload));
  });

  test('other nodes get what it had claimed: retries, and the unsettled part of the backlog', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 2);
    await settleFor(database, node, [failedOnce(leased[0]!, 0), succeeded(leased[1]!)]);
    await recordFor(database, null, 6);
    const { deliveries } = await claimFor(database, node);
    expect(deliveries).toHaveLength(7);
    const [retry, ...first] = [...deliveries].sort((a, b) => b.attempts - a.attempts);
    await settleFor(database, node, first.slice(0, 2).map(succeeded));
    expect(await bury(database, [node])).toBe(5);
    const { deliveries: again } = await claimFor(database, await registerNode(database, 60_000));
    expect(idsOf(again).sort()).toEqual(idsOf([retry!, ...first.slice(2)]).sort());
    expect(again.find(({ delivery_id: id }) => id === retry!.delivery_id)?.attempts).toBe(1);
  });

  test('a hand-off or part of the backlog that it had settled completely leaves nothing', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 4);
    const { deliveries } = await claimFor(database, node);
    const { leased } = await recordFor(database, node, 4);
    // Without the node hearing of it: what is settled still counts as open.
    await settleUnheard(database, node, deliveries.slice(0, 3).map(succeeded));
    await settleUnheard(database, node, leased.slice(0, 3).map(succeeded));
    await settleUnheard(database, node, [succeeded(deliveries[3]!), succeeded(leased[3]!)]);
    expect([await handoffSizes(database), await backlogSizes(database)]).toEqual([[4], [4]]);
    expect(await bury(database, [node])).toBe(0);
    expect([await handoffSizes(database), await backlogSizes(database)]).toEqual([[], []]);
    expect(await deliveryRows(database)).toHaveLength(8);
  });

  test('its outcomes are no longer written', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 4);
    await retireNodes(database, [node]);
    // Not declared dead yet: its attempts still count.
    expect(await settleFor(database, node, [succeeded(leased[0]!)])).toEqual([leased[0]!.delivery_id]);
    expect(await releaseLeases(database, many)).toBe(3);
    const before = await deliveryRows(database);
    expect(await settleFor(database, node, leased.slice(1).map(succeeded))).toEqual([]);
    expect(await deliveryRows(database)).toEqual(before);
    expect(await backlogSizes(database, 'waiting')).toEqual([3]);
  });

  test('it finds out when it renews its lease', async () => {
    const { database, node } = await withNode();
    expect(await renewNode(database, node, 60_000)).toBe(true);
    await bury(database, [node]);
    expect(await renewNode(database, node, 60_000)).toBe(false);
  });

  test('what it records afterwards, or what an unknown node has, is released, too; other nodes keep theirs', async () => {
    const { database, node: dead } = await withNode();
    const alive = await registerNode(database, 60_000);
    await bury(database, [dead]);
    const never = 4_711;
    const lost = [await recordFor(database, dead, 4), await recordFor(database, never, 5)];
    await recordFor(database, alive, 6);
    expect(await settleFor(database, dead, lost[0]!.leased.map(succeeded))).toEqual([]);
    expect(await releaseLeases(database, many)).toBe(9);
    expect(await handoffSizes(database)).toEqual([6]);
    const { deliveries } = await claimFor(database, alive);
    expect(idsOf(deliveries).sort()).toEqual(lost.flatMap(({ leased }) => idsOf(leased)).sort());
    expect(await releaseLeases(database, many)).toBe(0);
  });

  test('waiting and held deliveries are not released', async () => {
    const { database } = await withNode();
    await recordFor(database, null, 4);
    await recordFor(database, null, 5);
    await database.query({
      text: 'update posthorn.backlog set leased_by = 0 where cardinality(ordinals) = 5',
    });
    expect(await bury(database, 'all')).toBe(0);
    expect([await backlogSizes(database, 'waiting'), await backlogSizes(database, 'held')]).toEqual([
      [4],
      [5],
    ]);
  });

  test('a large number is released completely, as many at a time as one statement can', async () => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 10; n += 1) await subscribe(database, { id: `WHK-${n}` });
    const recorded: LeasedDelivery[] = [];
    for (let n = 0; n < 5; n += 1) recorded.push(...(await recordFor(database, node, 50)).leased);
    await retireNodes(database, [node]);
    const released: number[] = [];
    do released.push(await releaseLeases(database, 1_000));
    while (released.at(-1)! > 0);
    expect(released).toEqual([1_000, 1_000, 500, 0]);
    const alive = await registerNode(database, 60_000);
    const { deliveries } = await claimFor(database, alive, { bytesMax: 100 * many });
    expect(idsOf(deliveries).sort()).toEqual(idsOf(recorded).sort());
  });

  test('a large number of retries is released a limited number at a time, before anything else', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 25);
    await settleFor(
      database,
      node,
      leased.map((one) => failedOnce(one, 0)),
    );
    await recordFor(database, null, 7);
    expect((await claimFor(database, node)).deliveries).toHaveLength(32);
    await retireNodes(database, [node]);
    const released: number[] = [];
    do released.push(await releaseLeases(database, 10));
    while (released.at(-1)! > 0);
    expect(released).toEqual([10, 10, 5 + 7, 0]);
  });
});

describe('with any sequence of recording, claiming and settling', () => {
  const portion = fc.record({ size: fc.integer({ min: 1, max: 7 }), isLost: fc.boolean() });
  const story = fc.record({
    webhooks: fc.array(fc.constantFrom(['*'], ['invoice.*'], ['task.created']), {
      minLength: 1,
      maxLength: 3,
    }),
    batches: fc.array(
      fc.record({
        types: fc.array(fc.constantFrom('invoice.paid', 'task.created'), { minLength: 1, maxLength: 9 }),
        /** How much of it is handed over; the rest waits. */
        room: fc.integer({ min: 0, max: 12 }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    /** How much each claim may take for each webhook. */
    claims: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
    order: fc.infiniteStream(fc.nat()),
    /** How many are settled with one statement, and whether its response is lost. */
    portions: fc.array(portion, { maxLength: 12 }),
  });

  test('a node may die at any point: each delivery ends as one row, attempted once, and nothing is left behind', async () => {
    const { database } = await freshDatabase();
    let run = 0;
    const property = fc.asyncProperty(story, async ({ webhooks, batches, claims, order, portions }) => {
      run += 1;
      const organization_id = `ORG-${run}`;
      for (const [n, event_types] of webhooks.entries())
        await subscribe(database, { organization_id, id: `WHK-${run}-${n}`, event_types });
      const node = await registerNode(database, 60_000);
      const held: LeasedDelivery[] = [];
      let count = 0;
      for (const { types, room } of batches) {
        const events = batch(types.map((type) => event({ type, organization_id })));
        held.push(...(await recordBatch(database, events, roomOf(node, { total: room }))).leased);
        for (const type of types)
          count += webhooks.filter(
            ([pattern]) => pattern === '*' || pattern === type || pattern === `${type.split('.')[0]}.*`,
          ).length;
      }
      for (const each of claims) held.push(...(await claimFor(database, node, { each })).deliveries);
      const left = held
        .map((one) => ({ one, at: order.next().value }))
        .sort((a, b) => a.at - b.at)
        .map(({ one }) => one);
      const settled: string[] = [];
      for (const { size, isLost } of portions) {
        const outcomes = left.splice(0, size).map(succeeded);
        if (isLost) await settleUnheard(database, node, outcomes);
        await settleFor(database, node, outcomes);
        settled.push(...idsOf(outcomes.map(({ delivery }) => delivery)));
      }

      expect(await bury(database, [node])).toBe(left.length);
      const heir = await registerNode(database, 60_000);
      const { deliveries, more } = await claimFor(database, heir);
      expect(more.size).toBe(0);
      expect([...settled, ...idsOf(deliveries)]).toHaveLength(count);
      expect(idsOf(deliveries)).toEqual(expect.arrayContaining(idsOf(left)));
      await settleFor(database, heir, deliveries.map(succeeded));

      const rows = (await deliveryRows(database)).filter((row) => row.organization_id === organization_id);
      expect(rows.map(({ id }) => id)).toEqual([...settled, ...idsOf(deliveries)].sort());
      expect(rows.every(({ status, attempts }) => status === 'success' && attempts === 1)).toBe(true);
      expect([await handoffSizes(database), await backlogSizes(database)]).toEqual([[], []]);
    });
    await fc.assert(property, { numRuns: 25 });
  });
});
