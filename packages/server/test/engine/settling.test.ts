import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { registerNode } from '../../src/cells/node-store.js';
import { readDelivery } from '../../src/deliveries/delivery-store.js';
import { limits } from '../../src/engine/limits.js';
import { givenBack } from '../../src/engine/settlement-store.js';
import { type Entry, Settler, type SettlerOptions } from '../../src/engine/settler.js';
import { type LeasedDelivery, noRoom } from '../../src/events/recording-store.js';
import { Database, type Queryable, type Statement, type Transaction } from '../../src/postgres/database.js';
import { readUndelivered } from '../../src/stats/count-store.js';
import { webhookDisabled } from '../../src/webhooks/webhook.js';
import { shortenLockWaits } from '../support/database.js';
import {
  backlogSizes,
  bury,
  claimFor,
  deliveryRows,
  failedOnce,
  handoffSizes,
  idsOf,
  recordFor,
  settleFor,
  settleUnheard,
  subscribe,
  succeeded,
  withNode,
} from '../support/deliveries.js';
import { hurried, setLimits } from '../support/limits.js';
import { eventually } from '../support/tenant.js';

/** Fails as often as the test says, at the moment the test says. */
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

  override transaction<T>(work: (client: Transaction) => Promise<T>): Promise<T> {
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

async function withSettler(options: Partial<SettlerOptions> = {}) {
  const { database, url, node } = await withNode();
  const faltering = new FalteringDatabase({ connectionString: url });
  onTestFinished(() => faltering.close());
  const settler = new Settler({
    ...{ database: faltering, logger: pino({ level: 'silent' }) },
    ...{ room: () => noRoom, onWritten: () => undefined, onSurplus: () => undefined },
    ...options,
  });
  const write = async (entries: readonly Entry[]) => {
    for (const entry of entries) settler.add(entry);
    await settler.drain(performance.now() + 20_000);
  };
  return { database, url, faltering, node, settler, write };
}

const entryOf = (node: number) => (delivery: LeasedDelivery) => ({ node, settlement: succeeded(delivery) });

describe('the settler', () => {
  test('writes the other outcomes even if the database refuses one', async () => {
    setLimits({ settleAgainMs: 50 });
    const { database, node, settler } = await withSettler();
    const { leased } = await recordFor(database, node, 10);
    const entries = leased.map(entryOf(node));
    const { settlement } = entries[4]!;
    settlement.attempts = 121;
    for (const entry of entries) settler.add(entry);
    await eventually(
      () => deliveryRows(database),
      (rows) => rows.length === 9,
    );
    expect(await handoffSizes(database)).toEqual([10]);
    settlement.attempts = 1;
    await settler.drain(performance.now() + 20_000);
    expect(await deliveryRows(database)).toHaveLength(10);
    expect(await handoffSizes(database)).toEqual([]);
  });

  describe('while another transaction has locked a webhook', () => {
    /** Two webhooks that get the same three events. Another transaction has locked the first. */
    async function withLock() {
      const prepared = await withSettler();
      const { database, url, node } = prepared;
      await subscribe(database, { id: 'WHK-2' });
      const { leased } = await recordFor(database, node, 3);
      const holder = new pg.Client({ connectionString: url });
      await holder.connect();
      onTestFinished(() => holder.end());
      await holder.query("begin; select from posthorn.webhooks where id = 'WHK-1' for update");
      const untilWritten = (count: number) =>
        eventually(
          () => deliveryRows(database),
          (rows) => rows.length === count,
        );
      const [first, ...others] = leased.toSorted((a, b) => (a.webhook_id < b.webhook_id ? -1 : 1));
      const key = { organization_id: 'ORG-acme', id: 'WHK-1', givenUrl: 'https://receiver.test/' };
      const gone = {
        node,
        settlement: { ...succeeded(first!), status: 'failed' as const, http_status: 410 },
        gone: key,
      };
      return { ...prepared, leased, others, gone, holder, untilWritten };
    }

    test('writes its outcomes, retries and what is given back at once', async () => {
      const { node, leased, write, database } = await withLock();
      const [retry, back, ...delivered] = leased;
      await write([
        { node, settlement: failedOnce(retry!, 0) },
        { node, settlement: givenBack(back!, 0), isSurplus: true },
        ...delivered.map(entryOf(node)),
      ]);
      expect(await deliveryRows(database)).toHaveLength(6);
    });

    test('writes the outcomes of others even if the receiver of the webhook is gone, and that one as soon as it can', async () => {
      const { settler, node, others, gone, holder, untilWritten, database } = await withLock();
      settler.add(gone);
      for (const delivery of others) settler.add(entryOf(node)(delivery));
      await untilWritten(5);
      await holder.query('rollback');
      await untilWritten(6);
      const { rows } = await database.query({
        text: "select status from posthorn.webhooks where id = 'WHK-1'",
      });
      expect(rows).toEqual([{ status: 'disabled' }]);
    });

    test('does not wait for it when it stops, and writes the outcomes of others', async () => {
      const { settler, node, others, gone, untilWritten } = await withLock();
      settler.add(gone);
      for (const delivery of others) settler.add(entryOf(node)(delivery));
      await settler.stop(performance.now() + 1_000);
      await untilWritten(5);
    });
  });

  test('writes the other outcomes even if another transaction has locked a delivery', async () => {
    setLimits({ settleAgainMs: 50 });
    const { database, url, node, settler } = await withSettler();
    await shortenLockWaits(database, 'settle');
    const { leased } = await recordFor(database, node, 3);
    const retries = leased.map((one) => failedOnce(one, 0));
    await settleFor(database, node, retries);
    const { deliveries } = await claimFor(database, node);
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query('begin');
    await holder.query('select from posthorn.deliveries where id = $1 for update', [
      deliveries[0]!.delivery_id,
    ]);
    for (const delivery of deliveries) settler.add(entryOf(node)(delivery));
    const written = async () => (await deliveryRows(database)).filter(({ status }) => status === 'success');
    await eventually(written, (rows) => rows.length === 2);
    await holder.query('rollback');
    await eventually(written, (rows) => rows.length === 3);
  });

  test.skipIf(process.platform !== 'linux')(
    'writes all outcomes in one statement after the disk was full, however often it tried before',
    async () => {
      setLimits({ settleAgainMs: 50 });
      const failures: string[] = [];
      const sizes: number[] = [];
      const { database, node, settler } = await withSettler({
        logger: pino({}, { write: (line) => void failures.push(line) }),
        onWritten: ({ settled }) => void sizes.push(settled),
      });
      const { leased } = await recordFor(database, node, 10);
      // The kernel's own error: no byte fits on this device.
      await database.query({
        text: `
          create function fill() returns trigger language plpgsql as $$
            begin
              copy (select 1) to '/dev/full';
              return new;
            end $$`,
      });
      await database.query({
        text: 'create trigger full_disk before insert on posthorn.deliveries for each row execute function fill()',
      });
      for (const delivery of leased) settler.add(entryOf(node)(delivery));
      await eventually(
        async () => failures.length,
        (count) => count > 3,
      );
      expect(failures.every((line) => line.includes('No space left on device'))).toBe(true);
      expect(await deliveryRows(database)).toEqual([]);
      await database.query({ text: 'drop trigger full_disk on posthorn.deliveries' });
      await settler.drain(performance.now() + 20_000);
      expect(sizes).toEqual([10]);
      expect(await deliveryRows(database)).toHaveLength(10);
      expect(await handoffSizes(database)).toEqual([]);
    },
  );

  test('that stops tries an outcome that cannot be written a few times, and uses the database no more', async () => {
    let writes = 0;
    const refusing = {
      query: () => {
        writes += 1;
        return Promise.reject(new Error('timestamp out of range'));
      },
    };
    const { node, settler, database } = await withSettler({ database: refusing as unknown as Database });
    const [first, second] = (await recordFor(database, node, 2)).leased.map(entryOf(node));
    settler.add(first!);
    await settler.stop(performance.now() + 1_000);
    expect(writes).toBeLessThan(12);
    const before = writes;
    settler.add(second!);
    await new Promise((waited) => setTimeout(waited, limits.settleAgainMs * 1.5));
    expect(writes).toBe(before);
  });

  test('counts a hand-off correctly after a rollback', async () => {
    const { database, faltering, node, write } = await withSettler();
    const { leased } = await recordFor(database, node, 6);
    const entries = leased.map((delivery): Entry => entryOf(node)(delivery));
    const about = { id: 'WHK-2', organization_id: 'ORG-acme', workspace_id: null };
    entries[0]!.event = { ...webhookDisabled(about, 'gone'), undelivered: true };
    faltering.beforeCommit = 2;
    await write(entries.slice(0, 3));
    expect(faltering.beforeCommit).toBe(0);
    expect(await deliveryRows(database)).toHaveLength(3);
    expect(await handoffSizes(database)).toEqual([6]);
    await write(entries.slice(3));
    expect(await deliveryRows(database)).toHaveLength(6);
    expect(await handoffSizes(database)).toEqual([]);
  });

  test('counts a hand-off correctly if outcomes of another node id failed', async () => {
    const { database, faltering, node, write } = await withSettler();
    const other = await registerNode(database, 60_000);
    const { leased: ours } = await recordFor(database, node, 10);
    const { leased: theirs } = await recordFor(database, other, 4);
    faltering.node = other;
    await write([...ours.slice(0, 3).map(entryOf(node)), ...theirs.map(entryOf(other))]);
    expect(faltering.node).toBeUndefined();
    expect(await handoffSizes(database)).toEqual([10]);
    // Counted twice, these would seem to be the last.
    await write(ours.slice(3, 7).map(entryOf(node)));
    expect(await handoffSizes(database)).toEqual([10]);
    await write(ours.slice(7).map(entryOf(node)));
    expect(await handoffSizes(database)).toEqual([]);
    expect(await deliveryRows(database)).toHaveLength(14);
  });

  test('gives deliveries back while outcomes keep arriving', async () => {
    let surplus = 10;
    const { database, node, settler } = await withSettler({
      onSurplus: (_, sign) => {
        if (sign < 0) surplus -= 1;
      },
      // There is always another outcome to write.
      onWritten: () => {
        const next = surplus > 0 ? arriving.pop() : undefined;
        if (next) settler.add(entryOf(node)(next));
      },
    });
    const { leased } = await recordFor(database, node, 10);
    const arriving = [...(await recordFor(database, node, 50)).leased];
    settler.add(entryOf(node)(arriving.pop()!));
    for (const one of leased) settler.add({ node, settlement: givenBack(one, 0), isSurplus: true });
    await settler.drain(performance.now() + 20_000);
    expect(surplus).toBe(0);
    expect(arriving.length).toBeGreaterThan(40);
  });

  test('writes the outcomes of two node ids in two statements, however they arrive', async () => {
    const sizes: number[] = [];
    const { database, node, write } = await withSettler({
      onWritten: ({ settled }) => void sizes.push(settled),
    });
    const other = await registerNode(database, 60_000);
    const { leased } = await recordFor(database, node, 10);
    const { leased: others } = await recordFor(database, other, 10);
    await write(leased.flatMap((one, n) => [entryOf(node)(one), entryOf(other)(others[n]!)]));
    expect(sizes).toEqual([10, 10]);
  });

  test('ends the deliveries of a few disabled webhooks with one batch, because others are waiting', async () => {
    const { database, node, write } = await withSettler();
    for (let n = 2; n <= 12; n += 1) await subscribe(database, { id: `WHK-${n}` });
    const { leased } = await recordFor(database, node, 1);
    await recordFor(database, null, 1);
    await database.query({
      text: "update posthorn.webhooks set status = 'disabled', disabled_reason = 'manual'",
    });
    const ended = async () =>
      (await deliveryRows(database)).filter(({ status }) => status === 'failed').length;
    await write(leased.map((one) => ({ node, settlement: givenBack(one, 0) })));
    expect(await ended()).toBe(10);
    while ((await ended()) < 24) await claimFor(database, node);
  });

  test('writes smaller batches after one that took too long', async () => {
    setLimits({ settleAgainMs: 10 });
    const sizes: number[] = [];
    const { database, node, write } = await withSettler({
      onWritten: ({ settled }) => void sizes.push(settled),
    });
    const { leased } = await recordFor(database, node, 80);
    await database.query({
      text: `create function public.slow() returns trigger language plpgsql
               as $$ begin perform pg_sleep(0.01); return new; end $$;
             create trigger slow before insert on posthorn.deliveries for each row execute function public.slow()`,
    });
    // Later tests use the same database.
    onTestFinished(async () => void (await database.query({ text: 'drop function public.slow() cascade' })));
    // 80 rows take 0.8 s, and a statement gets 0.5 s.
    await hurried(() => write(leased.map(entryOf(node))));
    expect(sizes.reduce((sum, size) => sum + size)).toBe(80);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(40);
  });

  test('writes outcomes before deliveries that were given back earlier', async () => {
    setLimits({ settleOutcomes: 2 });
    const statuses: unknown[] = [];
    const { database, faltering, node, write } = await withSettler();
    const { leased } = await recordFor(database, node, 5);
    const query = faltering.query.bind(faltering);
    faltering.query = <Row extends object>(statement: Statement) => {
      statuses.push(JSON.stringify(statement.values).match(/\b(success|pending)\b/g));
      return query<Row>(statement);
    };
    const [last, ...queued] = leased;
    const surplus = queued.map((one): Entry => ({ node, settlement: givenBack(one, 0), isSurplus: true }));
    await write([...surplus, entryOf(node)(last!)]);
    expect(statuses).toEqual([['success', 'pending'], ['pending', 'pending'], ['pending']]);
  });

  test('does not write what is given back when it stops, because the end of the lease gives it back', async () => {
    const kept: number[] = [];
    const { database, node, settler } = await withSettler({ onSurplus: (_, sign) => void kept.push(sign) });
    const { leased } = await recordFor(database, node, 3);
    for (const one of leased) settler.add({ node, settlement: givenBack(one, 0), isSurplus: true });
    await settler.stop(performance.now() + 20_000);
    expect(await deliveryRows(database)).toEqual([]);
    expect(kept.reduce((sum, sign) => sum + sign)).toBe(0);
  });

  test('is behind while as many outcomes are unwritten as the limit says', async () => {
    setLimits({ unsettledOutcomes: 300 });
    const { database, node, settler } = await withSettler();
    const { leased } = await recordFor(database, node, 300);
    for (const delivery of leased.slice(1)) settler.add(entryOf(node)(delivery));
    expect(settler.isBehind).toBe(false);
    settler.add(entryOf(node)(leased[0]!));
    expect(settler.isBehind).toBe(true);
    await settler.drain(performance.now() + 20_000);
    expect(settler.isBehind).toBe(false);
  });

  test('writes outcomes of hand-offs, the backlog and retries in one statement', async () => {
    const statements: (string | undefined)[] = [];
    const { database, faltering, node, write } = await withSettler();
    const { leased: first } = await recordFor(database, node, 1);
    await settleFor(
      database,
      node,
      first.map((one) => failedOnce(one, 0)),
    );
    await recordFor(database, null, 3);
    const { deliveries } = await claimFor(database, node);
    const { leased } = await recordFor(database, node, 3);
    const query = faltering.query.bind(faltering);
    faltering.query = <Row extends object>(statement: Statement) => {
      statements.push(statement.name);
      return query<Row>(statement);
    };
    await write([...leased, ...deliveries].map(entryOf(node)));
    expect(statements).toEqual(['settle']);
    expect((await deliveryRows(database)).map(({ status }) => status)).toEqual(Array(7).fill('success'));
    expect([await handoffSizes(database), await backlogSizes(database)]).toEqual([[], []]);
  });
});

describe('outcomes whose response was lost', () => {
  test('are written again without counting twice, together with new ones', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 6);
    const firstFour = leased.slice(0, 4).map(succeeded);
    await settleUnheard(database, node, firstFour);
    const before = await deliveryRows(database);
    const more = [...firstFour.map((one) => ({ ...one, http_status: 204 })), succeeded(leased[4]!)];
    expect(await settleFor(database, node, more)).toEqual([leased[4]!.delivery_id]);
    expect(await deliveryRows(database)).toEqual(expect.arrayContaining(before));
    expect(await handoffSizes(database)).toEqual([6]);
    await settleFor(database, node, [succeeded(leased[5]!)]);
    expect(await deliveryRows(database)).toHaveLength(6);
    expect(await handoffSizes(database)).toEqual([]);
  });

  test('of a retry do not count as another attempt, even if the node has claimed the next one', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 1);
    await settleFor(database, node, [failedOnce(leased[0]!, 0)]);
    const second = (await claimFor(database, node)).deliveries[0]!;
    await settleUnheard(database, node, [failedOnce(second, 0)]);
    const before = await deliveryRows(database);
    expect(before).toMatchObject([{ attempts: 2, status: 'pending' }]);
    expect(await settleFor(database, node, [failedOnce(second, 0)])).toEqual([]);
    expect(await deliveryRows(database)).toEqual(before);
    const third = (await claimFor(database, node)).deliveries[0]!;
    expect(third.attempts).toBe(2);
    expect(await settleFor(database, node, [failedOnce(second, 0)])).toEqual([]);
    expect(await settleFor(database, node, [succeeded(third)])).toEqual([third.delivery_id]);
    expect(await deliveryRows(database)).toMatchObject([{ attempts: 3, status: 'success' }]);
  });

  test('of a delivery that was given back do not end the lease of the same node that has claimed it again', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 1);
    await settleFor(database, node, [failedOnce(leased[0]!, -1_000)]);
    const first = (await claimFor(database, node)).deliveries[0]!;
    expect(await settleUnheard(database, node, [givenBack(first, -1)])).toEqual([first.delivery_id]);
    const second = (await claimFor(database, node)).deliveries[0]!;
    expect(second.delivery_id).toBe(first.delivery_id);
    // The attempt is in flight when the node writes the lost outcome again.
    expect(await settleFor(database, node, [givenBack(first, -1)])).toEqual([]);
    expect(await deliveryRows(database)).toMatchObject([{ attempts: 1, status: 'pending', leased_by: node }]);
    expect((await claimFor(database, await registerNode(database, 60_000))).deliveries).toEqual([]);
    expect(await settleFor(database, node, [succeeded(second)])).toEqual([second.delivery_id]);
    expect(await deliveryRows(database)).toMatchObject([{ attempts: 2, status: 'success' }]);
  });
});

describe('an outcome', () => {
  const outcome = (delivery: LeasedDelivery, status: 'success' | 'failed') => ({
    ...succeeded(delivery),
    status,
  });
  const statuses = async (database: Queryable) => (await deliveryRows(database)).map(({ status }) => status);

  test('of a retry is written only by the node that holds its lease, and only once', async () => {
    const { database, node: dead } = await withNode();
    const { leased } = await recordFor(database, dead, 1);
    await settleFor(database, dead, [failedOnce(leased[0]!, 0)]);
    const { deliveries } = await claimFor(database, dead);
    const delivery = deliveries[0]!;
    expect(await bury(database, [dead])).toBe(1);
    const alive = await registerNode(database, 60_000);
    expect((await claimFor(database, alive)).deliveries).toEqual([delivery]);

    expect(await settleFor(database, dead, [outcome(delivery, 'failed')])).toEqual([]);
    expect(await statuses(database)).toEqual(['pending']);
    expect(await settleFor(database, alive, [outcome(delivery, 'success')])).toEqual([delivery.delivery_id]);
    expect(await statuses(database)).toEqual(['success']);
    // Whatever comes later cannot undo what has ended.
    expect(await settleFor(database, alive, [outcome(delivery, 'failed')])).toEqual([]);
    expect(await statuses(database)).toEqual(['success']);
  });

  test('of a retry in a week that retention has dropped does not block the others', async () => {
    const { database, node } = await withNode();
    const { leased } = await recordFor(database, node, 2);
    await settleFor(
      database,
      node,
      leased.map((one) => failedOnce(one, 0)),
    );
    const { deliveries } = await claimFor(database, node);
    const [one, other] = deliveries.map((delivery) => outcome(delivery, 'success'));
    one!.delivery = { ...one!.delivery, delivery_created_at: new Date('2020-01-01T00:00:00.000Z') };
    expect(await settleFor(database, node, [one!, other!])).toEqual([other!.delivery.delivery_id]);
    expect((await statuses(database)).sort()).toEqual(['pending', 'success']);
  });

  test.each(['handed over', 'waiting'] as const)(
    'of what was %s in a week that retention has dropped does not block the others, and ends it',
    async (how) => {
      const { database, node } = await withNode();
      const { leased } = await recordFor(database, how === 'waiting' ? null : node, 2);
      const [one] = how === 'waiting' ? (await claimFor(database, node)).deliveries : leased;
      const dropped = new Date('2020-01-01T00:00:00.000Z');
      for (const table of ['handoffs', 'backlog'])
        await database.query({ text: `update posthorn.${table} set created_at = $1`, values: [dropped] });
      const { group } = one!;
      const old = {
        ...{ ...one!, delivery_created_at: dropped, event_created_at: dropped, payload: null },
        group: {
          ...group!,
          open: 1,
          backlogKey: group!.backlogKey && { ...group!.backlogKey, created_at: dropped },
        },
      };
      const { leased: others } = await recordFor(database, node, 1);
      const cancelled = { delivery: old, status: 'cancelled', attempts: 0 } as const;
      const written = await settleFor(database, node, [cancelled, ...others.map(succeeded)]);
      expect(written).toEqual(expect.arrayContaining(others.map((other) => other.delivery_id)));
      expect([await handoffSizes(database), await backlogSizes(database)]).toEqual([[], []]);
    },
  );

  test.each(['cancelled', 'pending'] as const)(
    'of a waiting delivery whose event was dropped before it was claimed does not block the others, and ends it (%s)',
    async (status) => {
      const { database, node: dead } = await withNode();
      await recordFor(database, null, 2);
      await claimFor(database, dead);
      await database.query({ text: 'delete from posthorn.events' });
      expect(await bury(database, [dead])).toBe(2);
      const node = await registerNode(database, 60_000);
      const { deliveries } = await claimFor(database, node);
      expect(deliveries.map(({ type, payload }) => [type, payload])).toEqual(Array(2).fill([null, null]));
      const ended = deliveries.map((delivery) => ({ delivery, status, attempts: 0, wait_ms: 0 }));
      const { leased } = await recordFor(database, node, 1);
      expect(await settleFor(database, node, [...ended, ...leased.map(succeeded)])).toEqual(idsOf(leased));
      expect(await backlogSizes(database)).toEqual([]);
    },
  );

  test('without an attempt leaves a delivery unchanged, and it waits for any node', async () => {
    const { database, node } = await withNode();
    await recordFor(database, null, 1);
    const { leased } = await recordFor(database, node, 1);
    const { deliveries } = await claimFor(database, node);
    const untried = [...leased, ...deliveries].map((delivery) => ({
      ...({ delivery, status: 'pending', attempts: 0, wait_ms: -1 } as const),
    }));
    expect(await settleFor(database, node, untried)).toHaveLength(2);
    expect([await handoffSizes(database), await backlogSizes(database)]).toEqual([[], []]);
    const other = await registerNode(database, 60_000);
    const { deliveries: again } = await claimFor(database, other);
    expect(again.map((one) => [one.event_id, one.attempts, one.payload]).sort()).toEqual(
      [...leased, ...deliveries].map((one) => [one.event_id, 0, one.payload]).sort(),
    );
  });
});

test('while a hand-off is partly settled, each delivery appears once, in its current state', async () => {
  const { database, node } = await withNode();
  const { leased } = await recordFor(database, node, 6);
  const webhook = { organization_id: 'ORG-acme', webhook_id: 'WHK-1' };
  const cancelled = { delivery: leased[2]!, status: 'cancelled', attempts: 0 } as const;
  await settleFor(database, node, [succeeded(leased[0]!), failedOnce(leased[1]!, 3_600_000), cancelled]);
  expect(await handoffSizes(database)).toEqual([6]);
  expect(await readUndelivered(database, 'ORG-acme', 'WHK-1', new Date(Date.now() - 3_600_000))).toEqual({
    pending: 1 + 3,
    oldest: leased[0]!.delivery_created_at,
  });
  const shown = [];
  for (const { delivery_id: id, delivery_created_at: at } of leased) {
    shown.push((await readDelivery(database, { ...webhook, id, createdMs: at.getTime() }))?.status);
  }
  expect(shown).toEqual(['success', 'pending', undefined, 'pending', 'pending', 'pending']);
});
