import { EventEmitter, once } from 'node:events';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { registerNode } from '../../src/cells/node-store.js';
import { bringForward } from '../../src/deliveries/delivery-store.js';
import { limits } from '../../src/engine/limits.js';
import { WebhookChanges } from '../../src/engine/webhook-changes.js';
import { readStoreFigures } from '../../src/operations/overview-store.js';
import type { Database, Queryable } from '../../src/postgres/database.js';
import { deleteOld } from '../../src/retention/retention-store.js';
import { SecretBox } from '../../src/values/secret-box.js';
import { WebhookDirectory } from '../../src/webhooks/directory.js';
import { alignWaiting, changeWebhook, deleteWebhook, releaseHeld } from '../../src/webhooks/webhook-store.js';
import { freshServiceDatabase } from '../support/database.js';
import {
  backlogSizes,
  claimFor,
  deliveryRows,
  failedOnce,
  handoffSizes,
  idsOf,
  openDeliveries,
  recordFor,
  settleFor,
  subscribe,
  succeeded,
  withNode,
} from '../support/deliveries.js';
import { setLimits } from '../support/limits.js';
import { eventually } from '../support/tenant.js';

const dayMs = 86_400_000;
const webhook = { organization_id: 'ORG-acme', id: 'WHK-1', only_workspace_id: undefined };
/** The room of a node that has none for other webhooks. */
const onlyFirst = { webhooks: new Map([['WHK-2', 0]]) };
const disabled = { status: 'disabled', disabled_reason: 'manual' } as const;

/** Returns a new database: what earlier tests deleted would be read, too. */
async function withNodeAlone() {
  const { database, drop } = await freshServiceDatabase();
  onTestFinished(drop);
  await subscribe(database);
  return { database, node: await registerNode(database, 60_000) };
}

test('what a node gave back before its first attempt is claimed before newer deliveries in the backlog', async () => {
  const { database, node } = await withNode();
  const { leased } = await recordFor(database, node, 6);
  const later = await recordFor(database, null, 6);
  await settleFor(
    database,
    node,
    leased.map((delivery) => ({ delivery, status: 'pending' as const, attempts: 0, wait_ms: 0 })),
  );
  await changeWebhook(database, webhook, { status: 'paused' });
  await alignWaiting(database, webhook, 1_000);
  const last = await recordFor(database, null, 6);
  await changeWebhook(database, webhook, { status: 'active' });
  await alignWaiting(database, webhook, 1_000);
  const claimed: string[] = [];
  for (let turn = 0; turn < 12; turn += 1)
    for (const one of (await claimFor(database, node, { each: 4 })).deliveries) claimed.push(one.event_id);
  const recorded = [leased.map((one) => ({ id: one.event_id })), later.events, last.events].flat();
  expect(claimed).toEqual(recorded.map(({ id }) => id));
});

/** A webhook that has two retries and three recordings waiting. Returns the ids of all of them. */
async function prepared() {
  const { database, node } = await withNode();
  await subscribe(database, { id: 'WHK-2' });
  const { leased } = await recordFor(database, node, 2);
  await settleFor(
    database,
    node,
    leased.map((one) => failedOnce(one, 0)),
  );
  for (const size of [4, 1, 3]) await recordFor(database, null, size);
  const retries = leased.filter(({ webhook_id: id }) => id === 'WHK-1');
  const waiting = (await openDeliveries(database)).map(({ id }) => id);
  const outcomes = async () => {
    const rows = (await deliveryRows(database)).filter(({ webhook_id: id }) => id === 'WHK-1');
    return rows.map(({ id, status, error, attempts }) => ({ id, status, error, attempts }));
  };
  const othersStay = async () => {
    expect(await openDeliveries(database, { id: 'WHK-2' })).toHaveLength(8);
    expect((await claimFor(database, node)).deliveries.map((one) => one.webhook_id)).toEqual(
      Array(2 + 8).fill('WHK-2'),
    );
  };
  return { database, node, retries: idsOf(retries), waiting, outcomes, othersStay };
}

/** Aligns until nothing changes any more, a few at a time. */
async function align(database: Queryable): Promise<void> {
  while ((await alignWaiting(database, webhook, 2)) > 0);
}

describe('a delivery that waits for its webhook', () => {
  test('fails with the error disabled when the webhook is disabled, without an attempt, and other webhooks keep theirs', async () => {
    const { database, retries, waiting, outcomes, othersStay } = await prepared();
    await changeWebhook(database, webhook, disabled);
    await align(database);
    const ended = { status: 'failed', error: 'disabled' };
    expect(await outcomes()).toEqual(
      [
        ...retries.map((id) => ({ id, ...ended, attempts: 1 })),
        ...waiting.map((id) => ({ id, ...ended, attempts: 0 })),
      ].sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    expect(await openDeliveries(database)).toEqual([]);
    await othersStay();
  });

  test('shows its event when it ended, and keeps the outcome of its last attempt separate', async () => {
    const { database, retries, waiting } = await prepared();
    const events = new Map((await openDeliveries(database)).map(({ id, event_id }) => [id, event_id]));
    await changeWebhook(database, webhook, disabled);
    await align(database);
    const { rows } = await database.query<{ id: string; event_id: string; earlier: unknown; found: boolean }>(
      {
        text: `
  select d.id, d.event_id, d.earlier_attempts as earlier, e.type is not distinct from d.event_type as found
    from posthorn.deliveries d
    left join posthorn.events e
      on e.organization_id = d.organization_id and e.created_at = d.event_created_at and e.id = d.event_id
   where d.webhook_id = 'WHK-1'`,
      },
    );
    expect(rows.every(({ found }) => found)).toBe(true);
    for (const { id, event_id, earlier } of rows) {
      if (waiting.includes(id)) expect([event_id, earlier]).toEqual([events.get(id), null]);
      else expect([retries.includes(id), earlier]).toMatchObject([true, [{ attempt: 1, http_status: 500 }]]);
    }
  });

  test('is canceled or deleted when the webhook is deleted, and other webhooks keep theirs', async () => {
    const { database, retries, outcomes, othersStay } = await prepared();
    await deleteWebhook(database, webhook);
    await align(database);
    const cancelled = { status: 'cancelled', error: null, attempts: 1 };
    expect(await outcomes()).toEqual(retries.sort().map((id) => ({ id, ...cancelled })));
    expect(await openDeliveries(database)).toEqual([]);
    await othersStay();
  });

  test('keeps waiting while the webhook is active', async () => {
    const { database, node, retries, waiting } = await prepared();
    expect(await alignWaiting(database, webhook, 1_000)).toBe(0);
    const { deliveries } = await claimFor(database, node);
    const claimed = deliveries.filter((one) => one.webhook_id === 'WHK-1');
    expect(idsOf(claimed).sort()).toEqual([...retries, ...waiting].sort());
  });

  test('is held while the webhook is not verified, appears as pending, and waits again afterwards', async () => {
    const { database, node, retries, waiting, othersStay } = await prepared();
    await changeWebhook(database, webhook, { status: 'unverified' });
    await align(database);
    expect(await backlogSizes(database, 'held')).toEqual([4, 1, 3]);
    expect((await openDeliveries(database)).map(({ id }) => id)).toEqual(waiting);
    await othersStay();
    await changeWebhook(database, webhook, { status: 'active' });
    expect((await claimFor(database, node)).deliveries).toEqual([]);
    await align(database);
    const { deliveries } = await claimFor(database, node);
    expect(idsOf(deliveries).sort()).toEqual([...retries, ...waiting].sort());
  });

  test('is held by a claim that finds it, and costs later claims nothing', async () => {
    const { database, node } = await prepared();
    await changeWebhook(database, webhook, { status: 'unverified' });
    await claimFor(database, node);
    expect(await backlogSizes(database, 'held')).toEqual([4, 1, 3]);
    expect((await deliveryRows(database)).filter(({ leased_by }) => leased_by === 0)).toHaveLength(2);
  });

  test.each([
    ['disabled', () => disabled, { status: 'failed', error: 'disabled' }],
    ['verified', () => ({ status: 'active' }) as const, undefined],
  ])(
    'and is held is released when the webhook is %s, even without a notification',
    async (_, change, ended) => {
      const { database, node, retries, waiting, outcomes } = await prepared();
      await changeWebhook(database, webhook, { status: 'unverified' });
      await align(database);
      expect(await releaseHeld(database, 1_000)).toBe(0);
      await changeWebhook(database, webhook, change());
      while ((await releaseHeld(database, 2)) > 0);
      const all = [...retries, ...waiting].sort();
      if (ended) {
        const ofWaiting = (await outcomes()).map(({ id, status, error }) => ({ id, status, error }));
        expect(ofWaiting).toEqual(all.map((id) => ({ id, ...ended })));
        return;
      }
      const { deliveries } = await claimFor(database, node, { webhooks: new Map([['WHK-2', 0]]) });
      expect(idsOf(deliveries).sort()).toEqual(all);
    },
  );

  /** Resolves once a statement waits for a lock. */
  const untilOneWaits = (database: Database) =>
    eventually(
      async () => {
        const { rows } = await database.query<{ waiting: number }>({
          text: `
  select count(*) as waiting from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock'`,
        });
        return rows[0]!.waiting;
      },
      (waiting) => waiting > 0,
    );

  test('and is held is released although it is being redelivered at this moment', async () => {
    const { database, node, retries, waiting } = await prepared();
    await changeWebhook(database, webhook, { status: 'unverified' });
    await align(database);
    await changeWebhook(database, webhook, { status: 'active' });
    const [row] = (await deliveryRows(database)).filter(({ id }) => id === retries[0]);
    const { aligned } = await database.transaction(async (client) => {
      const key = { organization_id: 'ORG-acme', webhook_id: 'WHK-1', createdMs: row!.created_at.getTime() };
      expect(await bringForward(client, { ...key, id: row!.id })).toBeDefined();
      const aligned = align(database);
      await Promise.race([aligned, untilOneWaits(database)]);
      return { aligned };
    });
    await aligned;
    const { deliveries } = await claimFor(database, node, onlyFirst);
    expect(idsOf(deliveries).sort()).toEqual([...retries, ...waiting].sort());
  });

  test('is held while its organization is stopped or lives in another cell, and claimed once it works here again', async () => {
    const { database, node } = await prepared();
    await database.query({
      text: "insert into posthorn.relocations (organization_id, state, cell) values ('ORG-acme', 'stopped', 'west')",
    });
    expect((await claimFor(database, node)).deliveries).toEqual([]);
    expect(await releaseHeld(database, 100)).toBe(0);
    expect((await claimFor(database, node)).deliveries).toEqual([]);
    await database.query({ text: "update posthorn.relocations set state = 'here'" });
    while ((await releaseHeld(database, 100)) > 0);
    expect((await claimFor(database, node)).deliveries).toHaveLength(2 * (2 + 8));
  });

  test('and is given back after the webhook was disabled or deleted does not wait', async () => {
    for (const [end, status] of [
      [(database: Database) => changeWebhook(database, webhook, disabled), 'failed'],
      [(database: Database) => deleteWebhook(database, webhook), 'cancelled'],
    ] as const) {
      const { database, node } = await withNode();
      const { leased } = await recordFor(database, node, 3);
      await end(database);
      await settleFor(database, node, [failedOnce(leased[0]!, 60_000), failedOnce(leased[1]!, 0)]);
      expect((await deliveryRows(database)).map((row) => [row.status, row.attempts])).toEqual(
        Array(2).fill([status, 1]),
      );
      expect(await settleFor(database, node, [succeeded(leased[2]!)])).toHaveLength(1);
    }
  });

  /** Returns a database in which this many deliveries wait for the webhook, in addition to those of another one. */
  async function waitingBeside(own: number, ofOthers: number): Promise<Database> {
    const { database, node } = await withNodeAlone();
    await recordFor(database, node, 1);
    await database.query({
      text: `
  insert into posthorn.deliveries (organization_id, webhook_id, created_at, id, event_id, event_type,
                                   event_created_at, due_at, status)
  select 'ORG-acme', case when n <= $1 then 'WHK-1' else 'WHK-other' end, now(), 'X-' || n, 'X-' || n,
         'invoice.paid', now(), now(), case when n <= $1 then 'pending' else 'success' end
    from generate_series(1, $1::int + $2::int) n`,
      values: [own, ofOthers],
    });
    await changeWebhook(database, webhook, disabled);
    return database;
  }

  test('ends at a cost that does not grow with the deliveries of others', async () => {
    const pagesWith = async (ofOthers: number) => {
      const database = await waitingBeside(100, ofOthers);
      await database.query({ text: 'analyze posthorn.deliveries' });
      const { rows } = await database.transaction(async (client) => {
        // A connection that has not used the tables yet also reads pages about them.
        await alignWaiting(client, { ...webhook, id: 'WHK-none' }, 1_000);
        return client.query<{ 'QUERY PLAN': string }>({
          text: `
  explain (analyze, buffers, costs off, timing off, summary off)
  select posthorn.align_waiting('ORG-acme', 'WHK-1', 1000)`,
        });
      });
      const plan = rows.map((row) => row['QUERY PLAN']).join(' ');
      const [, hit, , read = 0] = /shared hit=(\d+)( read=(\d+))?/.exec(plan) ?? [];
      return Number(hit) + Number(read);
    };
    // The indexes of both are equally deep. Reading the deliveries of others would take 170 pages more.
    const [few, large] = [await pagesWith(1_000), await pagesWith(10_000)];
    expect(few).toBeGreaterThan(500);
    expect(large).toBeLessThan(few + 100);
  });

  /** Ends what waits for the webhook. Returns how many deliveries that changed, and how many rows it read. */
  async function rowsRead(database: Database, table: 'deliveries' | 'events') {
    return database.transaction(async (client) => {
      const changed = await alignWaiting(client, webhook, 1_000);
      const { rows } = await client.query<{ read: number }>({
        text: `
  select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint as read
    from pg_stat_xact_user_tables
   where relname like $1 || '\\_%'`,
        values: [table],
      });
      return { changed, read: rows[0]!.read };
    });
  }

  test('ends without reading all others of its webhook, even before statistics exist', async () => {
    const { changed, read } = await rowsRead(await waitingBeside(200, 0), 'deliveries');
    expect(changed).toBe(200);
    // Each is found, locked and changed. Reading all of them for each would be 40,000.
    expect(read).toBeLessThan(5 * 200);
  });

  test('in the backlog ends without reading any event other than its own', async () => {
    const { database, node } = await withNodeAlone();
    for (let n = 0; n < 3; n += 1) await recordFor(database, node, 1_000);
    await recordFor(database, null, 100);
    await changeWebhook(database, webhook, disabled);
    expect(await rowsRead(database, 'events')).toEqual({ changed: 1, read: 100 });
  });
});

describe('if the database cannot end the deliveries of a disabled webhook', () => {
  const hide = 'alter function posthorn.align_waiting rename to hidden';
  const show = 'alter function posthorn.hidden rename to align_waiting';

  /** A disabled webhook with a retry that is due in an hour, and a database that cannot end it. */
  async function failing() {
    const { database, node } = await withNodeAlone();
    const { leased } = await recordFor(database, node, 1);
    await settleFor(database, node, [failedOnce(leased[0]!, 3_600_000)]);
    await changeWebhook(database, webhook, disabled);
    await database.query({ text: hide });
    const warnings = new EventEmitter();
    const logger = pino({ level: 'warn' }, { write: () => void warnings.emit('warning') });
    const directory = new WebhookDirectory(database, new SecretBox([Buffer.alloc(32)]), limits);
    const changes = new WebhookChanges({
      ...{ database, directory, logger, alone: true },
      node: () => node,
    });
    setLimits({ alignAgainMs: 1 });
    onTestFinished(() => changes.stop());
    return { database, changes, warnings };
  }

  test('they end as soon as it can', async () => {
    const { database, changes, warnings } = await failing();
    const warned = once(warnings, 'warning');
    const aligned = changes.alignWaiting(webhook);
    await warned;
    expect(await deliveryRows(database)).toMatchObject([{ status: 'pending' }]);
    await database.query({ text: show });
    await aligned;
    expect(await deliveryRows(database)).toMatchObject([
      { status: 'failed', error: 'disabled', attempts: 1 },
    ]);
  });

  test('the webhook cannot be made active before they have ended', async () => {
    const { database, changes } = await failing();
    await expect(changes.endWaiting(webhook)).rejects.toThrow('align_waiting');
    await database.query({ text: show });
    await changes.endWaiting(webhook);
    expect(await deliveryRows(database)).toMatchObject([{ status: 'failed', error: 'disabled' }]);
  });
});

test('however many webhooks change at once, ending their deliveries leaves half of the connections free, and organizations take turns', async () => {
  const running: string[] = [];
  const overlaps: string[][] = [];
  const order: string[] = [];
  const left = new Map<string, number>();
  const database = {
    query: async ({ values: [organization, id] }: { values: [string, string] }) => {
      running.push(organization);
      overlaps.push([...running]);
      order.push(organization);
      await new Promise((ended) => setImmediate(ended));
      running.splice(running.indexOf(organization), 1);
      left.set(id, (left.get(id) ?? 3) - 1);
      return { rows: [{ changed: left.get(id) }] };
    },
  } as unknown as Database;
  const changes = new WebhookChanges({
    ...{ database, logger: pino({ level: 'silent' }), alone: true, node: () => 1 },
    directory: new WebhookDirectory(database, new SecretBox([Buffer.alloc(32)]), limits),
  });
  const keys = Array.from({ length: 30 }, (_, n) => ({ organization_id: 'ORG-many', id: `WHK-${n}` }));
  const others = ['ORG-a', 'ORG-b'].map((organization_id) => ({
    organization_id,
    id: `WHK-${organization_id}`,
  }));
  await Promise.all([...keys, ...others].map((key) => changes.alignWaiting(key)));
  expect([...left.values()]).toEqual(Array(32).fill(0));
  expect(Math.max(...overlaps.map(({ length }) => length))).toBe(2);
  expect(overlaps.every((owners) => new Set(owners).size === owners.length)).toBe(true);
  expect(order.findLastIndex((organization) => organization !== 'ORG-many')).toBeLessThan(20);
});

test('a committed change to a webhook takes effect even if the database cannot count the other nodes', async () => {
  const { database, node } = await withNodeAlone();
  await recordFor(database, null, 1);
  await changeWebhook(database, webhook, disabled);
  await database.query({ text: 'alter table posthorn.nodes rename to hidden' });
  const changes = new WebhookChanges({
    ...{ database, logger: pino({ level: 'silent' }), alone: false, node: () => node },
    directory: new WebhookDirectory(database, new SecretBox([Buffer.alloc(32)]), limits),
  });
  onTestFinished(() => changes.stop());
  await changes.forgetEverywhere(webhook);
  expect(await deliveryRows(database)).toMatchObject([{ status: 'failed', error: 'disabled' }]);
});

describe('how long the oldest delivery has waited', () => {
  test('counts the backlog and due retries, but not held deliveries or later retries', async () => {
    const { database, node } = await withNode();
    expect((await readStoreFigures(database)).oldestDueSeconds.healthy).toBe(0);
    const { leased } = await recordFor(database, node, 1);
    await settleFor(database, node, [failedOnce(leased[0]!, 3_600_000)]);
    expect((await readStoreFigures(database)).oldestDueSeconds.healthy).toBe(0);
    await database.query({ text: "update posthorn.deliveries set due_at = now() - interval '30 minutes'" });
    expect(Math.round((await readStoreFigures(database)).oldestDueSeconds.healthy / 60)).toBe(30);
    await recordFor(database, null, 4);
    await database.query({ text: "update posthorn.backlog set created_at = created_at - interval '1 hour'" });
    expect(Math.round((await readStoreFigures(database)).oldestDueSeconds.healthy / 60)).toBe(60);
    await changeWebhook(database, webhook, { status: 'unverified' });
    await align(database);
    expect((await readStoreFigures(database)).oldestDueSeconds.healthy).toBe(0);
  });
});

test('backlog older than its events is deleted, but not what a node has leased', async () => {
  const { database, node } = await withNode();
  for (const size of [4, 3, 2]) await recordFor(database, null, size);
  await claimFor(database, node, { each: 4 });
  await database.query({ text: 'update posthorn.backlog set leased_by = 0 where cardinality(ordinals) = 2' });
  await recordFor(database, node, 5);
  await deleteOld(database, 'backlog', new Date(Date.now() - dayMs), 10);
  expect(await backlogSizes(database)).toEqual([4, 3, 2]);
  await deleteOld(database, 'backlog', new Date(Date.now() + dayMs), 10);
  expect([await backlogSizes(database), await handoffSizes(database)]).toEqual([[4], [5]]);
});
