import { EventEmitter, once } from 'node:events';
import { pino } from 'pino';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Claimer, type ClaimerOptions } from '../../src/engine/claimer.js';
import { Lanes, type Turn } from '../../src/engine/lanes.js';
import { limits } from '../../src/engine/limits.js';
import { type LeasedDelivery, recordBatch } from '../../src/events/recording-store.js';
import type { Database, Statement } from '../../src/postgres/database.js';
import { batch } from '../support/client.js';
import {
  eventsOf,
  failedOnce,
  idsOf,
  recordFor,
  settleFor,
  subscribe,
  withNode,
} from '../support/deliveries.js';
import { setLimits, withoutPolls } from '../support/limits.js';
import { eventually } from '../support/tenant.js';

beforeEach(withoutPolls);

/** Returns a claimer of a node that has this in memory, stopped after the test. */
function startClaimer(database: Database, lanes: Lanes, options: Pick<ClaimerOptions, 'node' | 'onClaimed'>) {
  const claimer = new Claimer({ database, logger: pino({ level: 'silent' }), lanes, ...options });
  onTestFinished(() => claimer.stop());
  return claimer;
}

/** A node whose receivers respond after a moment. */
function nodeOn(database: Database, node: number) {
  const attempted: LeasedDelivery[] = [];
  const lanes = new Lanes(() => undefined);
  const pump = () => {
    for (let turn = lanes.next(); turn; turn = lanes.next()) void attempt(turn);
  };
  const attempt = async (turn: Turn) => {
    attempted.push(turn.delivery);
    await new Promise((responded) => setTimeout(responded, 1));
    const { wantsMore } = lanes.ended(turn, { kind: 'delivered', tookMs: 1 });
    if (wantsMore) claimer.wake(limits.wakeMs);
    pump();
  };
  const claimer = startClaimer(database, lanes, {
    node: () => node,
    onClaimed: (deliveries) => {
      lanes.add(deliveries);
      pump();
    },
  });
  const all = async (count: number) => {
    await eventually(
      async () => attempted.length,
      (attempts) => attempts === count,
    );
    expect(new Set(idsOf(attempted)).size).toBe(count);
  };
  return { claimer, lanes, attempted, all };
}

/** A database that notes the total and the time limit of each claim. */
function counting(database: Database, isRefused = (_total: number) => false) {
  const totals: number[] = [];
  const limitsMs: unknown[] = [];
  const counted = {
    query: (statement: Statement) => {
      if (statement.name !== 'claim') return database.query(statement);
      const total = Number(statement.values?.[3]);
      totals.push(total);
      limitsMs.push(statement.limitMs);
      if (isRefused(total)) return Promise.reject(new Error('too much to read'));
      return database.query(statement);
    },
  } as Database;
  return { database: counted, totals, limitsMs };
}

describe('without waiting for a poll, a node claims', () => {
  test('deliveries of many webhooks that have a few each', async () => {
    const { database, node } = await withNode();
    // Not all of them fit into one claim.
    setLimits({ claimWebhooks: 20 });
    const [webhooks, each] = [50, 4];
    for (let n = 0; n < webhooks; n += 1) {
      await subscribe(database, { organization_id: `ORG-${n}`, id: `WHK-x${n}` });
      await recordBatch(database, batch(eventsOf(`ORG-${n}`, each)));
    }
    const { claimer, all } = nodeOn(database, node);
    claimer.wake();
    await all(webhooks * each);
  });

  test('a whole backlog, recording by recording', async () => {
    const { database, node } = await withNode();
    setLimits({ laneQueuedNew: 100 });
    for (let n = 0; n < 12; n += 1) await recordFor(database, null, 50);
    const { claimer, all } = nodeOn(database, node);
    claimer.wake();
    await all(600);
  });

  test('retries when they are due, even with a backlog', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { organization_id: 'ORG-b', id: 'WHK-b' });
    const { leased } = await recordFor(database, node, 100);
    await settleFor(
      database,
      node,
      leased.map((one, index) => failedOnce(one, index * 5)),
    );
    await recordBatch(database, batch(eventsOf('ORG-b', 1_500)));
    const { claimer, all } = nodeOn(database, node);
    claimer.wake();
    await all(1_600);
  });

  test('deliveries of another webhook next to many that have more than they can send', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 100);
    const lanes = new Lanes(() => undefined);
    const greedy = Array.from({ length: 40 }, (_, index) => `WHK-greedy-${index}`);
    const of = (id: string) => leased.map((one) => ({ ...one, organization_id: id, webhook_id: id }));
    for (const id of greedy) {
      lanes.add(of(id));
      for (let turn = lanes.next(); turn; turn = lanes.next())
        lanes.ended(turn, { kind: 'delivered', tookMs: 1 });
    }
    for (let round = 0; round < 100; round += 1) {
      const { webhooks, each, total } = lanes.roomToRecord(node);
      if (total >= 100) for (const id of greedy) if ((webhooks.get(id) ?? each) >= 100) lanes.add(of(id));
    }
    expect(lanes.queued).toBeGreaterThan(10_000);
    await recordFor(database, null, 50);
    const claimed = await new Promise<readonly LeasedDelivery[]>((onClaimed) => {
      startClaimer(database, lanes, { node: () => node, onClaimed }).wake();
    });
    expect(claimed.map((one) => one.webhook_id)).toEqual(Array(50).fill('WHK-1'));
  });
});

describe('a claimer', () => {
  test('claims once for several wake-ups, at the earliest requested time', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 4);
    const { database: counted, totals } = counting(database);
    const { claimer, all } = nodeOn(counted, node);
    claimer.wake(3_600_000);
    for (let n = 0; n < 20; n += 1) claimer.wake(n % 3);
    await all(4);
    await claimer.stop();
    expect(totals).toHaveLength(1);
  });

  test.each([
    ['memory is full', { queued: 0 }],
    ['it has no name', {}],
  ])('claims nothing while its node has no room because %s', async (_, full) => {
    const { database, node } = await withNode();
    await recordFor(database, null, 4);
    const { database: counted, totals } = counting(database);
    const lanes = new Lanes(() => undefined);
    setLimits(full);
    const claimer = startClaimer(counted, lanes, {
      node: () => ('queued' in full ? node : undefined),
      onClaimed: () => undefined,
    });
    claimer.wake();
    // Timers run in the order of their time.
    await new Promise((passed) => setTimeout(passed, 5));
    await claimer.stop();
    expect(totals).toEqual([]);
  });

  test('that cannot read what it claimed claims less, with more time, until it can, and then more again', async () => {
    setLimits({ pollMs: 1, claimDeliveries: 5_000 });
    const { database, node } = await withNode();
    for (let n = 0; n < 3; n += 1) await recordFor(database, null, 1_000);
    const { database: counted, totals, limitsMs } = counting(database, (total) => total > 500);
    const { claimer, all } = nodeOn(counted, node);
    claimer.wake();
    await all(3_000);
    const [largest = 0] = totals;
    expect(totals.slice(0, 5)).toEqual([1, 2, 4, 8, 16].map((part) => Math.floor(largest / part)));
    expect(limitsMs.slice(0, 5)).toEqual([2_500, 5_000, 10_000, 10_000, 10_000]);
    expect(totals.some((total, index) => total > (totals[index - 1] ?? total))).toBe(true);
  });

  test('that stops cancels its claim', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 1);
    const claiming = new EventEmitter();
    const slow = {
      query: async ({ signal }: Statement) => {
        claiming.emit('claim');
        await once(signal!, 'abort');
        throw new Error('canceled');
      },
    };
    const { claimer } = nodeOn(slow as unknown as Database, node);
    const claims = once(claiming, 'claim');
    claimer.wake();
    await claims;
    await claimer.stop();
  });

  test('leaves deliveries claimed under an abandoned id to the release', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 4);
    const claimed: LeasedDelivery[] = [];
    let name: number | undefined = node;
    const { database: counted, totals } = counting(database);
    const claimer = startClaimer(counted, new Lanes(() => undefined), {
      node: () => {
        const now = name;
        name = undefined;
        return now;
      },
      onClaimed: (deliveries) => void claimed.push(...deliveries),
    });
    claimer.wake();
    await eventually(
      async () => totals.length,
      (claims) => claims === 1,
    );
    await claimer.stop();
    expect(claimed).toEqual([]);
  });
});
