import { describe, expect, test } from 'vitest';
import { registerNode } from '../../src/cells/node-store.js';
import { recordBatch } from '../../src/events/recording-store.js';
import type { Queryable } from '../../src/postgres/database.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import {
  backlogSizes,
  bury,
  claimFor,
  deliveryRows,
  eventsOf,
  failedOnce,
  handoffSizes,
  idsOf,
  openDeliveries,
  recordFor,
  roomOf,
  type Subscriber,
  settleFor,
  subscribe,
  succeeded,
  withNode,
} from '../support/deliveries.js';

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

  async function costOf(count: number, organizations: number): Promise<number> {
    const { database, node } = await withNode();
    for (let n = 1; n < organizations; n += 1)
      await subscribe(database, { organization_id: `ORG-${n}`, id: `WHK-x${n}` });
    // Makes the partitions of the week.
    await recordFor(database, node, 1);
    return database.transaction(async (client) => {
      const before = await rowsWritten(client);
      const events = Array.from({ length: count }, (_, n) => {
        const organization = n % organizations;
        return event({ organization_id: organization === 0 ? 'ORG-acme' : `ORG-${organization}` });
      });
      const { leased } = await recordBatch(client, batch(events), roomOf(node));
      expect(await settleFor(client, node, leased.map(succeeded))).toHaveLength(count);
      return (await rowsWritten(client)) - before;
    });
  }

  test.each([1, 4, 100])(
    'cost two rows and a share of the hand-off, which is written and deleted once for all %i of a recording',
    async (count) => expect(await costOf(count, 1)).toBe(2 * count + 2),
  );

  test('cost the same if each event of a recording goes to another organization', async () =>
    expect(await costOf(40, 40)).toBe(2 * 40 + 2));
});

describe('a hand-off', () => {
  test('is one row for a whole recording, whatever its webhooks, and no delivery has a row yet', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { id: 'WHK-2' });
    await subscribe(database, { organization_id: 'ORG-other', id: 'WHK-3' });
    const events = [...eventsOf('ORG-acme', 5), ...eventsOf('ORG-other', 4)];
    const { leased } = await recordBatch(database, batch(events), roomOf(node));
    expect(leased).toHaveLength(2 * 5 + 4);
    expect(await handoffSizes(database)).toEqual([14]);
    expect([await backlogSizes(database), await deliveryRows(database)]).toEqual([[], []]);
  });

  test('is deleted when the last of its deliveries is settled, and not before', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { id: 'WHK-2' });
    const { leased } = await recordFor(database, node, 3);
    await settleFor(database, node, leased.slice(2).map(succeeded));
    expect(await handoffSizes(database)).toEqual([6]);
    await settleFor(database, node, leased.slice(0, 1).map(succeeded));
    expect(await handoffSizes(database)).toEqual([6]);
    await settleFor(database, node, leased.slice(1, 2).map(succeeded));
    expect(await handoffSizes(database)).toEqual([]);
    expect((await deliveryRows(database)).map(({ id }) => id)).toEqual(idsOf(leased).sort());
  });

  test('does not exist if no webhook gets the events', async () => {
    const { database, node } = await withNode();
    const { events, leased, matched } = await recordBatch(
      database,
      batch([event({ organization_id: 'ORG-nobody' }), { ...event(), undelivered: true }]),
      roomOf(node),
    );
    expect([events.length, leased, matched]).toEqual([2, [], []]);
    expect([await handoffSizes(database), await backlogSizes(database)]).toEqual([[], []]);
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
    const known = await recordBatch(database, batch([before]), roomOf(node));
    await settleFor(database, node, known.leased.map(succeeded));
    const mixed = Array.from({ length: 40 }, (_, n) =>
      event({
        organization_id: n % 3 === 0 ? 'ORG-other' : 'ORG-acme',
        workspace_id: n % 4 === 0 ? 'WS-2' : n % 4 === 1 ? null : 'WS-1',
        type: ['invoice.paid', 'task.created', 'incident.opened', 'run.started'][n % 4],
        payload: { n, filler: 'ü'.repeat(n) },
      }),
    );
    // What went out before goes out no more, and what nobody gets is in nobody's share.
    const events = [before, ...mixed.slice(0, 20), { ...event(), undelivered: true }, ...mixed.slice(20)];
    const recorded = await recordBatch(database, batch(events), roomOf(node));
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

  test('each go to the webhook of their event, with their own id', async () => {
    const { recorded, wanted } = await prepared();
    expect(new Set(idsOf(recorded.leased)).size).toBe(wanted.length);
    expect(byPair(recorded.leased).map(pairOf)).toEqual(byPair(wanted).map(pairOf));
    for (const delivery of recorded.leased) {
      expect(delivery.delivery_id).toMatch(/^WDLV-[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(delivery.delivery_created_at).toEqual(recorded.events[1]!.created_at);
    }
  });

  test('can be found before they are settled, by the ids they were handed over with', async () => {
    const { database, recorded } = await prepared();
    for (const { organization_id = 'ORG-acme', id } of subscribers) {
      const ofWebhook = recorded.leased.filter(({ webhook_id }) => webhook_id === id);
      expect(await openDeliveries(database, { organization_id, id: id! })).toEqual(
        ofWebhook.map((one) => ({ id: one.delivery_id, event_id: one.event_id })),
      );
    }
  });

  test('are stored as they were handed over, after they are settled', async () => {
    const { database, node, recorded, wanted, rows } = await prepared();
    await settleFor(
      database,
      node,
      recorded.leased.map((one) => failedOnce(one, 0)),
    );
    expect(await handoffSizes(database)).toEqual([]);
    const stored = await rows();
    expect(byPair(stored)).toMatchObject(byPair(wanted));
    const handedOver = new Map(recorded.leased.map((one) => [pairOf(one), one]));
    for (const row of stored) {
      const delivery = handedOver.get(pairOf(row))!;
      expect(row).toMatchObject({
        ...{ id: delivery.delivery_id, created_at: delivery.delivery_created_at, leased_by: null },
        ...{ event_created_at: delivery.event_created_at, event_type: delivery.type, status: 'pending' },
      });
    }
  });

  test('are claimed by another node as they were handed over, after their node died', async () => {
    const { database, recorded, wanted } = await prepared();
    expect(await bury(database, 'all')).toBe(wanted.length);
    expect(await handoffSizes(database)).toEqual([]);
    const { deliveries } = await claimFor(database, await registerNode(database, 60_000));
    const withoutGroup = recorded.leased.map(({ group: _, ...one }) => one);
    expect(byPair(deliveries)).toMatchObject(byPair(withoutGroup));
  });
});

describe('a first attempt from a hand-off', () => {
  test('that fails gives its delivery a row, which is claimed when it is due', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 5);
    const [due, later, ...rest] = leased;
    await settleFor(database, node, [
      failedOnce(due!, 0),
      failedOnce(later!, 3_600_000),
      ...rest.map(succeeded),
    ]);
    const pending = (await deliveryRows(database)).filter(({ status }) => status === 'pending');
    expect(pending).toHaveLength(2);
    const bytes = Buffer.byteLength(due!.payload!);
    for (const row of pending)
      expect(row).toMatchObject({ attempts: 1, http_status: 500, leased_by: null, bytes });

    const { deliveries } = await claimFor(database, node);
    const { due_at } = pending.find(({ id }) => id === due!.delivery_id)!;
    expect(deliveries).toEqual([{ ...due!, attempts: 1, scheduled: 2, due_at, group: undefined }]);
    expect(await settleFor(database, node, deliveries.map(succeeded))).toEqual([due!.delivery_id]);
    const { rows } = await database.query<{ attempts: number; status: string; earlier: unknown[] }>({
      text: 'select attempts, status, earlier_attempts as earlier from posthorn.deliveries where id = $1',
      values: [due!.delivery_id],
    });
    expect(rows).toMatchObject([
      { attempts: 2, status: 'success', earlier: [{ attempt: 1, http_status: 500, response: 'no' }] },
    ]);
  });
});

describe('a recording for a node with limited room', () => {
  const ofWebhooks = (leased: readonly { webhook_id: string }[]) => {
    const counts: Record<string, number> = {};
    for (const { webhook_id: id } of leased) counts[id] = (counts[id] ?? 0) + 1;
    return counts;
  };

  test('hands over no more in total, however many webhooks match; the rest waits, and the node knows for whom', async () => {
    const { database, node } = await withNode();
    for (const id of ['WHK-2', 'WHK-3']) await subscribe(database, { id });
    const { leased, matched } = await recordBatch(
      database,
      batch(eventsOf('ORG-acme', 10)),
      roomOf(node, { total: 25 }),
    );
    expect(ofWebhooks(leased)).toEqual({ 'WHK-1': 10, 'WHK-2': 10, 'WHK-3': 5 });
    expect(matched.map(({ webhook_id: id, has_backlog }) => [id, has_backlog])).toEqual([
      ['WHK-1', false],
      ['WHK-2', false],
      ['WHK-3', true],
    ]);
    expect([await handoffSizes(database), await backlogSizes(database, 'waiting')]).toEqual([[25], [5]]);
  });

  test('hands over small shares first: a large share does not keep out small ones', async () => {
    const { database, node } = await withNode();
    await subscribe(database, { organization_id: 'ORG-little', id: 'WHK-little' });
    const events = [...eventsOf('ORG-acme', 100), ...eventsOf('ORG-little', 5)];
    const { leased } = await recordBatch(database, batch(events), roomOf(node, { total: 50 }));
    expect(ofWebhooks(leased)).toEqual({ 'WHK-1': 45, 'WHK-little': 5 });
    expect(await backlogSizes(database, 'waiting')).toEqual([55]);
  });

  test('hands over as many for each webhook as there is room for, and counts only those', async () => {
    const { database, node } = await withNode();
    for (const id of ['WHK-2', 'WHK-3', 'WHK-4']) await subscribe(database, { id });
    const room = roomOf(node, {
      webhooks: new Map([
        ['WHK-1', 0],
        ['WHK-2', 3],
        ['WHK-elsewhere', 7],
      ]),
      ...{ each: 6, total: 15 },
    });
    const { leased, matched } = await recordBatch(database, batch(eventsOf('ORG-acme', 10)), room);
    expect(ofWebhooks(leased)).toEqual({ 'WHK-2': 3, 'WHK-3': 6, 'WHK-4': 6 });
    expect(matched.every(({ has_backlog }) => has_backlog)).toBe(true);
    expect(await backlogSizes(database, 'waiting')).toEqual([10, 7, 4, 4]);
  });

  test('hands over the first events of a webhook and leaves later ones, without loss or duplicates', async () => {
    const { database, node } = await withNode();
    const { events, leased } = await recordBatch(
      database,
      batch(eventsOf('ORG-acme', 10)),
      roomOf(node, { each: 4 }),
    );
    const { deliveries } = await claimFor(database, node);
    const recorded = events.map(({ id }) => id);
    expect(leased.map((one) => one.event_id)).toEqual(recorded.slice(0, 4));
    expect(deliveries.map((one) => one.event_id)).toEqual(recorded.slice(4));
    expect(new Set(idsOf([...leased, ...deliveries])).size).toBe(10);
  });

  test.each([
    ['has no room', roomOf(1, { total: 0 })],
    ['is not there', roomOf(null)],
  ])('leaves everything if the node %s', async (_, room) => {
    const { database } = await withNode();
    const { leased } = await recordBatch(database, batch(eventsOf('ORG-acme', 10)), room);
    expect([leased, await handoffSizes(database)]).toEqual([[], []]);
    expect(await backlogSizes(database, 'waiting')).toEqual([10]);
  });

  test('returns the revision of each webhook that it matched', async () => {
    const { database, node } = await withNode();
    await database.query({ text: 'update posthorn.webhooks set revision = 7' });
    const { matched } = await recordFor(database, node, 2);
    expect(matched).toMatchObject([{ webhook_id: 'WHK-1', revision: 7, has_backlog: false }]);
  });
});
