import { describe, expect, test } from 'vitest';
import { claimDeliveries } from '../../src/storage/claims.js';
import type { Queryable } from '../../src/storage/database.js';
import { readOldestUnfinished } from '../../src/storage/deliveries.js';
import type { LeasedDelivery } from '../../src/storage/leased-delivery.js';
import { registerNode, releaseDeadNodes, releaseOrphans, retireNodes } from '../../src/storage/nodes.js';
import { recordBatch } from '../../src/storage/recording.js';
import { settleBundled } from '../../src/storage/settlements.js';
import {
  bundleSizes,
  deliveryRows,
  failedOnce,
  recordFor,
  type Subscriber,
  settle,
  subscribe,
  succeeded,
  withNode,
} from '../support/bundles.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';

const dayMs = 86_400_000;
const idsOf = (deliveries: readonly LeasedDelivery[]) => deliveries.map(({ delivery_id: id }) => id);

describe('an event and its delivery', () => {
  /** Rows inserted, updated and deleted so far in the transaction of the client. */
  async function rowsWritten(client: Queryable): Promise<number> {
    const { rows } = await client.query<{ written: number }>({
      text: `
  select sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint as written
    from pg_stat_xact_user_tables
   where schemaname = 'posthorn'`,
    });
    return rows[0]!.written;
  }

  test.each([
    [1, 3],
    [3, 9],
    [4, 2 * 4 + 2],
    [100, 2 * 100 + 2],
  ])('of %i recorded together cost %i rows from the recording to the outcome', async (count, cost) => {
    const { database, node } = await withNode();
    // Makes the partitions of the day.
    await recordFor(database, node, 1);
    await database.transaction(async (client) => {
      const before = await rowsWritten(client);
      const { leased } = await recordFor(client, node, count);
      expect(await settle(client, node, leased.map(succeeded))).toHaveLength(count);
      expect((await rowsWritten(client)) - before).toBe(cost);
    });
  });
});

describe('a bundle', () => {
  test('is gone once the last of its deliveries is settled, and not before', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 6);
    expect(await deliveryRows(database)).toEqual([]);
    await settle(database, node, leased.slice(2).map(succeeded));
    expect(await bundleSizes(database)).toEqual([6]);
    await settle(database, node, leased.slice(0, 1).map(succeeded));
    expect(await bundleSizes(database)).toEqual([6]);
    await settle(database, node, leased.slice(1, 2).map(succeeded));
    expect(await bundleSizes(database)).toEqual([]);
    expect((await deliveryRows(database)).map(({ id }) => id)).toEqual(idsOf(leased).sort());
  });

  test('of an earlier day is unfinished work of that day, until its last delivery is settled', async () => {
    const { database, node } = await withNode();
    await recordFor(database, node, 1);
    const midnight = (await readOldestUnfinished(database))!.getTime();
    const { leased } = await recordFor(database, node, 4);
    expect((await readOldestUnfinished(database))?.getTime()).toBe(midnight);
    await database.query({ text: "update posthorn.bundles set created_at = created_at - interval '3 days'" });
    expect((await readOldestUnfinished(database))?.getTime()).toBe(midnight - 3 * dayMs);
    await database.query({ text: "delete from posthorn.deliveries where status = 'pending'" });
    expect((await readOldestUnfinished(database))?.getTime()).toBe(midnight - 3 * dayMs);
    await database.query({ text: "update posthorn.bundles set created_at = created_at + interval '3 days'" });
    await settle(database, node, leased.map(succeeded));
    expect(await readOldestUnfinished(database)).toBeNull();
  });
});

describe('deliveries of one recording to many', () => {
  const subscribers: Partial<Subscriber>[] = [
    { id: 'WHK-all' },
    { id: 'WHK-workspace', workspace_id: 'WS-2' },
    { id: 'WHK-types', event_types: ['task.created', 'incident.*'] },
    { id: 'WHK-other', organization_id: 'ORG-other' },
    { id: 'WHK-also', organization_id: 'ORG-other', event_types: ['invoice.*'] },
    { id: 'WHK-nothing', event_types: ['user.invited'] },
  ];

  async function prepared() {
    const { database } = await freshDatabase();
    const all: Subscriber[] = [];
    for (const fields of subscribers) all.push(await subscribe(database, fields));
    const node = await registerNode(database, 60_000);
    const before = event({ idempotency_key: 'before' });
    const known = await recordBatch(database, batch([before]));
    const mixed = Array.from({ length: 40 }, (_, n) =>
      event({
        organization_id: n % 3 === 0 ? 'ORG-other' : 'ORG-acme',
        workspace_id: n % 4 === 0 ? 'WS-2' : n % 4 === 1 ? null : 'WS-1',
        type: ['invoice.paid', 'task.created', 'incident.opened', 'run.started'][n % 4],
        payload: { n, filler: 'ü'.repeat(n) },
      }),
    );
    // What went out before goes out no more, and what nobody gets is in nobody's bundle.
    const events = [before, ...mixed.slice(0, 20), { ...event(), undelivered: true }, ...mixed.slice(20)];
    const recorded = await recordBatch(database, batch(events), { node, saturated: [] });
    expect(recorded.events[0]!.id).toBe(known.events[0]!.id);
    const wanted = events.flatMap((one, index) =>
      all
        .filter((webhook) => isFor(webhook, one) && index !== 0 && !('undelivered' in one))
        .map((webhook) => ({
          ...{ organization_id: one.organization_id, webhook_id: webhook.id, event_type: one.type },
          event_id: recorded.events[index]!.id,
          bytes: Buffer.byteLength(JSON.stringify(one.payload)),
        })),
    );
    const rows = async () => {
      const stored = await deliveryRows(database);
      return stored.filter(({ event_id: id }) => id !== known.events[0]!.id);
    };
    return { database, node, recorded, wanted, rows };
  }

  function isFor(webhook: Subscriber, one: Record<string, unknown>): boolean {
    const type = String(one.type);
    return (
      webhook.organization_id === one.organization_id &&
      (webhook.workspace_id === null || webhook.workspace_id === one.workspace_id) &&
      [type, `${type.split('.')[0]}.*`, '*'].some((pattern) => webhook.event_types.includes(pattern))
    );
  }

  const pairOf = (one: { event_id: string; webhook_id: string }) => `${one.event_id} ${one.webhook_id}`;
  const byPair = <T extends { event_id: string; webhook_id: string }>(all: readonly T[]) =>
    [...all].sort((a, b) => (pairOf(a) < pairOf(b) ? -1 : 1));

  test('each go to the webhook their event is for, under an id of their own', async () => {
    const { recorded, wanted } = await prepared();
    expect(new Set(idsOf(recorded.leased)).size).toBe(wanted.length);
    expect(byPair(recorded.leased).map(pairOf)).toEqual(byPair(wanted).map(pairOf));
    for (const delivery of recorded.leased) {
      expect(delivery.delivery_id).toMatch(/^WDLV-[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(delivery.delivery_created_at).toEqual(recorded.events[1]!.created_at);
    }
  });

  const ways: [string, (given: Awaited<ReturnType<typeof prepared>>) => Promise<unknown>][] = [
    [
      'settled',
      ({ database, node, recorded }) =>
        settle(
          database,
          node,
          recorded.leased.map((one) => failedOnce(one, 0)),
        ),
    ],
    ['opened', ({ database }) => retireNodes(database, 'all').then(() => releaseDeadNodes(database))],
  ];
  test.each(ways)('are stored as they were handed out, once they are %s', async (_, end) => {
    const given = await prepared();
    expect((await bundleSizes(given.database)).length).toBeGreaterThanOrEqual(4);
    await end(given);
    expect(await bundleSizes(given.database)).toEqual([]);
    const rows = await given.rows();
    expect(byPair(rows)).toMatchObject(byPair(given.wanted));
    const handedOut = new Map(given.recorded.leased.map((one) => [pairOf(one), one]));
    for (const row of rows) {
      const delivery = handedOut.get(pairOf(row))!;
      expect(row).toMatchObject({
        ...{ id: delivery.delivery_id, created_at: delivery.delivery_created_at, leased_by: null },
        ...{ event_created_at: delivery.event_created_at, event_type: delivery.type, status: 'pending' },
      });
    }
  });
});

describe('a first attempt out of a bundle', () => {
  test('that fails is claimed when it is due, and goes on as a row', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 5);
    const [due, later, ...rest] = leased;
    await settle(database, node, [
      failedOnce(due!, 0),
      failedOnce(later!, 3_600_000),
      ...rest.map(succeeded),
    ]);
    const pending = (await deliveryRows(database)).filter(({ status }) => status === 'pending');
    expect(pending).toHaveLength(2);
    const bytes = Buffer.byteLength(due!.payload!);
    for (const row of pending)
      expect(row).toMatchObject({ attempts: 1, http_status: 500, leased_by: null, bytes });

    const claim = { ...{ node, busy: [], perWebhook: 10, webhooksMax: 10 }, bytesMax: 1_000_000 };
    const { deliveries } = await claimDeliveries(database, {
      ...claim,
      notBefore: new Date(Date.now() - dayMs),
    });
    const { bundle: _, ...asRow } = due!;
    expect(deliveries).toMatchObject([{ ...asRow, attempts: 1 }]);
    expect(await settle(database, node, deliveries.map(succeeded))).toEqual([due!.delivery_id]);
    const { rows } = await database.query<{ attempts: number; status: string; earlier: unknown[] }>({
      text: 'select attempts, status, earlier_attempts as earlier from posthorn.deliveries where id = $1',
      values: [due!.delivery_id],
    });
    expect(rows).toMatchObject([
      { attempts: 2, status: 'success', earlier: [{ attempt: 1, http_status: 500, response: 'no' }] },
    ]);
  });
});

describe('outcomes whose answer was lost', () => {
  test('are written again without counting twice, together with those that were not written', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 6);
    const firstFour = leased.slice(0, 4).map(succeeded);
    await settleBundled(database, node, firstFour, { again: false, answer: false });
    const before = await deliveryRows(database);
    const more = [...firstFour.map((one) => ({ ...one, http_status: 204 })), succeeded(leased[4]!)];
    expect(await settle(database, node, more, true)).toEqual([leased[4]!.delivery_id]);
    expect(await deliveryRows(database)).toEqual(expect.arrayContaining(before));
    expect(await bundleSizes(database)).toEqual([6]);
    await settle(database, node, [succeeded(leased[5]!)]);
    expect(await deliveryRows(database)).toHaveLength(6);
    expect(await bundleSizes(database)).toEqual([]);
  });

  test('are refused as a whole where nobody says that they may be written already', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 4);
    await settle(database, node, [succeeded(leased[0]!)]);
    await expect(settle(database, node, leased.map(succeeded))).rejects.toMatchObject({ code: '23505' });
    expect((await deliveryRows(database)).map(({ id }) => id)).toEqual([leased[0]!.delivery_id]);
    expect(await bundleSizes(database)).toEqual([4]);
  });
});

describe('when a node is taken for dead', () => {
  test('what it had settled stays as it is, and the rest of the bundle is for others', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 6);
    await settle(database, node, [succeeded(leased[0]!), failedOnce(leased[1]!, 3_600_000)]);
    const before = await deliveryRows(database);
    await retireNodes(database, [node]);
    expect(await releaseDeadNodes(database)).toBe(4);
    const after = await deliveryRows(database);
    expect(after).toHaveLength(6);
    expect(after).toEqual(expect.arrayContaining(before));
    expect(await bundleSizes(database)).toEqual([]);

    const alive = await registerNode(database, 60_000);
    const claim = { ...{ node: alive, busy: [], perWebhook: 10, webhooksMax: 10 }, bytesMax: 1_000_000 };
    const { deliveries } = await claimDeliveries(database, {
      ...claim,
      notBefore: new Date(Date.now() - dayMs),
    });
    expect(idsOf(deliveries).sort()).toEqual(idsOf(leased.slice(2)).sort());
    expect(deliveries.map(({ payload }) => payload)).toEqual(leased.slice(2).map(({ payload }) => payload));
  });

  test('no outcome of its bundles is written any more', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 4);
    await retireNodes(database, [node]);
    // Not declared dead yet: its attempts still count.
    expect(await settle(database, node, [succeeded(leased[0]!)])).toEqual([leased[0]!.delivery_id]);
    expect(await releaseDeadNodes(database)).toBe(3);
    const before = await deliveryRows(database);
    for (const again of [false, true]) {
      expect(await settle(database, node, leased.slice(1).map(succeeded), again)).toEqual([]);
    }
    expect(await deliveryRows(database)).toEqual(before);
  });

  test('what it records afterwards, or a node that never was, is found as an orphan; others keep theirs', async () => {
    const { database, node: dead } = await withNode();
    const alive = await registerNode(database, 60_000);
    await retireNodes(database, [dead]);
    await releaseDeadNodes(database);
    const never = 4_711;
    const lost = [await recordFor(database, dead, 4), await recordFor(database, never, 5)];
    await recordFor(database, alive, 6);
    expect(await settle(database, dead, lost[0]!.leased.map(succeeded))).toEqual([]);
    expect(await releaseDeadNodes(database)).toBe(0);
    expect(await releaseOrphans(database)).toBe(9);
    expect(await bundleSizes(database)).toEqual([6]);
    const ids = lost.flatMap(({ leased }) => idsOf(leased));
    expect((await deliveryRows(database)).map(({ id }) => id)).toEqual(ids.sort());
    expect(await releaseOrphans(database)).toBe(0);
  });

  test('all of very many are released, each time as many as a statement has time for', async () => {
    const { database, node } = await withNode();
    for (let n = 2; n <= 10; n += 1) await subscribe(database, { id: `WHK-${n}` });
    const leased: LeasedDelivery[] = [];
    for (let n = 0; n < 5; n += 1) leased.push(...(await recordFor(database, node, 1_000)).leased);
    await retireNodes(database, [node]);
    const released = [await releaseDeadNodes(database)];
    while (released.at(-1)! > 0) released.push(await releaseOrphans(database));
    expect(released).toEqual([20_000, 20_000, 10_000, 0]);
    expect((await deliveryRows(database)).map(({ id }) => id)).toEqual(idsOf(leased).sort());
  });
});
