import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Began, type HealthReport, HealthReports } from '../../src/engine/health.js';
import { limits } from '../../src/engine/limits.js';
import { type FailingWebhook, settle } from '../../src/engine/settlement-store.js';
import { Settler, type Written } from '../../src/engine/settler.js';
import { noRoom } from '../../src/events/recording-store.js';
import type { Outcome } from '../../src/outcomes/outcome.js';
import { Database, type Queryable, type Statement } from '../../src/postgres/database.js';
import { dayMs } from '../../src/values/time.js';
import { clearFailures } from '../../src/webhooks/probe-store.js';
import { deleteWebhook } from '../../src/webhooks/webhook-store.js';
import {
  bury,
  deliveryRows,
  failedOnce,
  leasedDelivery,
  recordFor,
  subscribe,
  succeeded,
  withNode,
} from '../support/deliveries.js';
import { setLimits } from '../support/limits.js';
import { eventually } from '../support/tenant.js';

const hourMs = 3_600_000;
const success: Outcome = {
  ...{
    kind: 'response',
    httpStatus: 204,
    durationMs: 1,
    response: null,
    headers: {},
    retryAfterMs: undefined,
  },
};
const failure: Outcome = { kind: 'no_response', error: 'reset', durationMs: 1 };
const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms);
/** So many ms from now by the monotonic clock, whatever that of the machine says. */
const began = (ms: number): Began => ({ at: at(ms), monotonicMs: performance.now() + ms });
const hoursAgo = (time: Date | null | undefined) =>
  time ? Math.round(Math.abs(Date.now() - time.getTime()) / hourMs) : time;

interface HealthRow {
  last_delivery_at: Date | null;
  last_delivery_status: string | null;
  failing_since: Date | null;
  last_failure_at: Date | null;
}

async function healthOf(database: Queryable, id = 'WHK-1'): Promise<HealthRow | undefined> {
  const { rows } = await database.query<HealthRow>({
    text: `
  select last_delivery_at, last_delivery_status, failing_since, last_failure_at
    from posthorn.webhook_health where webhook_id = $1`,
    values: [id],
  });
  return rows[0];
}

describe('what a node reports about a webhook', () => {
  /** A book in which so many webhooks are noted, and were reported at 0 ms as failed. */
  function reported(webhooks: number): HealthReports {
    const book = new HealthReports();
    for (let n = 0; n < webhooks; n += 1)
      book.note(leasedDelivery({ webhook_id: `WHK-${n}` }), failure, { at: at(n), monotonicMs: n });
    expect(book.take(limits.healthOutcomes, 0)).toHaveLength(webhooks);
    return book;
  }
  const idsOf = (reports: readonly HealthReport[]) => reports.map(({ webhook_id: id }) => id);

  test('is written at once with few outcomes, so that a webhook shows an attempt as soon as its deliveries do', () => {
    const book = reported(2);
    book.note(leasedDelivery({ webhook_id: 'WHK-0' }), failure, { at: at(10), monotonicMs: 10 });
    expect(idsOf(book.take(limits.healthOutcomes - 1, 1))).toEqual(['WHK-0']);
    expect(book.isEmpty).toBe(true);
  });

  test('is written once a second with many outcomes, but at once if the webhook starts to fail or to succeed', () => {
    const book = reported(3);
    for (const [id, outcome] of [
      ['WHK-0', failure],
      ['WHK-1', success],
      ['WHK-2', failure],
    ] as const)
      book.note(leasedDelivery({ webhook_id: id }), outcome, { at: at(10), monotonicMs: 10 });
    expect(idsOf(book.take(limits.healthOutcomes, 1))).toEqual(['WHK-1']);
    expect(book.isEmpty).toBe(false);
    expect(idsOf(book.take(limits.healthOutcomes, limits.healthEveryMs - 1))).toEqual([]);
    expect(idsOf(book.take(limits.healthOutcomes, limits.healthEveryMs))).toEqual(['WHK-0', 'WHK-2']);
  });

  test('is reported again, with later results, if it could not be written', () => {
    const book = new HealthReports();
    const noted = (...outcomes: (readonly [Outcome, number])[]) => {
      for (const [outcome, ms] of outcomes)
        book.note(leasedDelivery({ webhook_id: 'WHK-0' }), outcome, { at: at(ms), monotonicMs: ms });
    };
    noted([success, 1], [failure, 2]);
    book.putBack(book.take(1, 0));
    expect(book.take(1, 0)).toMatchObject([
      { last_at: at(2), succeeded: true, first_failure_ms: 2, last_failure_ms: 2 },
    ]);
    noted([success, 1], [failure, 2]);
    const lost = book.take(1, 0);
    noted([failure, 3]);
    book.putBack(lost);
    expect(book.take(1, 0)).toMatchObject([
      { last_at: at(3), succeeded: true, first_failure_ms: 2, last_failure_ms: 3 },
    ]);
    noted([failure, 4]);
    const older = book.take(1, 0);
    noted([success, 5]);
    book.putBack(older);
    expect(book.take(1, 0)).toMatchObject([
      { last_at: at(5), last_status: 'success', succeeded: true, first_failure_ms: null },
    ]);
  });
});

describe('the health of a webhook in the database', () => {
  async function prepared() {
    const { database, node } = await withNode();
    const write = (...outcomes: (readonly [Outcome, number])[]) => {
      const book = new HealthReports();
      for (const [outcome, ms] of outcomes)
        book.note(leasedDelivery({ webhook_id: 'WHK-1' }), outcome, began(ms));
      const options = { listed: false, failingMs: dayMs };
      return settle(database, node, [], book.take(1, 0), options);
    };
    return { database, node, write };
  }

  test('is null before the first attempt, then that of the latest, whichever was written last', async () => {
    const { database, write } = await prepared();
    expect(await healthOf(database)).toEqual({
      ...{ last_delivery_at: null, last_delivery_status: null, failing_since: null, last_failure_at: null },
    });
    await write([success, 10]);
    expect(await healthOf(database)).toMatchObject({
      last_delivery_at: at(10),
      last_delivery_status: 'success',
    });
    await write([failure, 5]);
    expect(await healthOf(database)).toMatchObject({
      last_delivery_at: at(10),
      last_delivery_status: 'success',
    });
    await write([failure, 11]);
    expect(await healthOf(database)).toMatchObject({
      last_delivery_at: at(11),
      last_delivery_status: 'failed',
    });
  });

  /** How many hours ago the failures began, and the last one was. */
  const failingHours = async (database: Queryable) => {
    const health = await healthOf(database);
    return [hoursAgo(health?.failing_since), hoursAgo(health?.last_failure_at)];
  };

  test('counts failures from the first after the last success, over many reports', async () => {
    const { database, write } = await prepared();
    await write([failure, -9 * hourMs], [failure, -8 * hourMs]);
    await write([failure, -7 * hourMs]);
    expect(await failingHours(database)).toEqual([9, 7]);
    await write([success, -6 * hourMs], [failure, -5 * hourMs]);
    expect(await failingHours(database)).toEqual([5, 5]);
    await write([failure, -4 * hourMs], [success, -3 * hourMs]);
    expect(await failingHours(database)).toEqual([null, null]);
  });

  test('counts failures from zero after the webhook is verified', async () => {
    const { database, write } = await prepared();
    await write([failure, -9 * hourMs]);
    await clearFailures(database, { organization_id: 'ORG-acme', id: 'WHK-1' });
    await write([failure, -5 * hourMs]);
    expect(await failingHours(database)).toEqual([5, 5]);
  });

  test('returns webhooks that have had only failures for at least that long, by the clock of the database', async () => {
    const { write } = await prepared();
    expect((await write([failure, hourMs - dayMs])).failing).toEqual([]);
    expect((await write([failure, -dayMs])).failing).toEqual([]);
    expect((await write([success, 2 * hourMs - dayMs])).failing).toEqual([]);
    await write([failure, -2 * dayMs]);
    const { failing } = await write([failure, 0]);
    expect(failing).toMatchObject([{ organization_id: 'ORG-acme', id: 'WHK-1' }]);
    const [{ failing_since_ms, last_failure_ms, now_ms }] = failing as [FailingWebhook];
    expect((Date.now() - now_ms) / hourMs).toBeCloseTo(0, 1);
    expect((now_ms - failing_since_ms) / hourMs).toBeCloseTo(48, 1);
    expect((now_ms - last_failure_ms) / hourMs).toBeCloseTo(0, 1);
  });

  test('is not written by a node that counts as dead, or for a deleted webhook', async () => {
    const { database, node, write } = await prepared();
    await subscribe(database, { id: 'WHK-2' });
    await bury(database, [node]);
    await write([failure, 1]);
    expect(await healthOf(database)).toMatchObject({ last_delivery_at: null });
    await deleteWebhook(database, { organization_id: 'ORG-acme', id: 'WHK-1', only_workspace_id: undefined });
    expect(await healthOf(database)).toBeUndefined();
    await expect(write([failure, 1])).resolves.toMatchObject({ failing: [] });
    expect(await healthOf(database, 'WHK-2')).toBeDefined();
  });
});

describe('a settler', () => {
  /** Counts what is written, and refuses to write as often as the test says. */
  class RefusingDatabase extends Database {
    refusals = 0;
    settlements = 0;

    override query<Row extends object>(statement: Statement) {
      if (statement.name === 'settle') this.settlements += 1;
      if (statement.name === 'settle' && this.refusals > 0) {
        this.refusals -= 1;
        return Promise.reject(new Error('refused'));
      }
      return super.query<Row>(statement);
    }
  }

  async function prepared() {
    const { database, url, node } = await withNode();
    const refusing = new RefusingDatabase({ connectionString: url });
    onTestFinished(() => refusing.close());
    const written: Written[] = [];
    const settler = new Settler({
      ...{ database: refusing, logger: pino({ level: 'silent' }) },
      ...{ room: () => noRoom, onWritten: (one) => void written.push(one), onSurplus: () => undefined },
    });
    const fail = async (ms: number) => {
      const { leased } = await recordFor(database, node, 1);
      settler.health.note(leasedDelivery({ webhook_id: 'WHK-1' }), failure, began(ms));
      settler.add({ node, settlement: failedOnce(leased[0]!, hourMs) });
      await settler.drain(performance.now() + 20_000);
    };
    return { database, url, refusing, node, settler, written, fail };
  }

  test('writes the health of a webhook in the transaction that writes the outcome', async () => {
    const { database, fail } = await prepared();
    await database.query({
      text: `
  create table written (relation text, transaction xid8 default pg_current_xact_id());
  create function note_written() returns trigger language plpgsql as $$
  begin
    insert into written (relation) values (tg_argv[0]);
    return null;
  end $$;
  create trigger note_delivery after insert on posthorn.deliveries
    for each row execute function note_written('delivery');
  create trigger note_health after update on posthorn.webhook_health
    for each row execute function note_written('health')`,
    });
    await fail(0);
    const { rows } = await database.query({
      text: 'select array_agg(relation order by relation) as relations from written group by transaction',
    });
    expect(rows).toEqual([{ relations: ['delivery', 'health'] }]);
  });

  test('writes the last known health before it stops', async () => {
    const { database, settler, fail } = await prepared();
    await fail(-1);
    settler.health.note(leasedDelivery({ webhook_id: 'WHK-1' }), success, began(0));
    await settler.drain(performance.now() + 20_000);
    expect(await healthOf(database)).toMatchObject({ last_delivery_status: 'success' });
  });

  test('disables a webhook that has only failed for 5 days, after the deciding failure is written', async () => {
    const { database, refusing, written, fail } = await prepared();
    await fail(-5 * dayMs);
    expect(written.flatMap(({ disabled }) => disabled)).toEqual([]);
    refusing.refusals = 2;
    await fail(0);
    expect(refusing.refusals).toBe(0);
    const { rows } = await database.query({
      text: `
  select w.status, w.disabled_reason,
         (select count(*) from posthorn.events e where e.type = 'webhook.disabled') as recorded
    from posthorn.webhooks w`,
    });
    expect(rows).toEqual([{ status: 'disabled', disabled_reason: 'failing', recorded: 1 }]);
    expect(written.at(-1)?.disabled).toMatchObject([{ id: 'WHK-1' }]);
    expect((await deliveryRows(database)).map(({ status, error }) => [status, error])).toEqual(
      Array(2).fill(['failed', 'disabled']),
    );
  });

  test('does not disable a webhook whose failures are less than 12 hours apart', async () => {
    const { written, fail } = await prepared();
    await fail(-6 * dayMs);
    await fail(-6 * dayMs + 11 * hourMs);
    expect(written.flatMap(({ disabled }) => disabled)).toEqual([]);
    await fail(-6 * dayMs + 12 * hourMs);
    expect(written.flatMap(({ disabled }) => disabled)).toHaveLength(1);
  });

  describe('while another transaction deletes a webhook', () => {
    async function withLock() {
      const one = await prepared();
      const { database, url, node, fail } = one;
      await fail(-4 * dayMs);
      await subscribe(database, { id: 'WHK-2' });
      const { leased } = await recordFor(database, node, 1);
      const holder = new pg.Client({ connectionString: url });
      await holder.connect();
      onTestFinished(() => holder.end());
      await holder.query("begin; delete from posthorn.webhooks where id = 'WHK-1'");
      return { ...one, leased, holder };
    }

    test('writes all outcomes and the health of others, and the health of the webhook when it can', async () => {
      const { database, node, settler, leased, holder } = await withLock();
      for (const delivery of leased) {
        settler.health.note(delivery, success, began(-2));
        settler.add({ node, settlement: succeeded(delivery) });
      }
      await eventually(
        () => deliveryRows(database),
        (rows) => rows.filter(({ status }) => status === 'success').length === 2,
      );
      expect(await healthOf(database, 'WHK-2')).toMatchObject({ last_delivery_status: 'success' });
      expect(await healthOf(database)).toMatchObject({ last_delivery_status: 'failed' });
      // Without the success, the webhook would seem to fail for 4 days.
      settler.health.note(leasedDelivery({ webhook_id: 'WHK-1' }), failure, began(-1));
      await holder.query('rollback');
      await settler.drain(performance.now() + 20_000);
      const health = await healthOf(database);
      expect([health?.last_delivery_at, hoursAgo(health?.failing_since)]).toEqual([at(-1), 0]);
    });

    test('writes later outcomes as soon as usual', async () => {
      setLimits({ healthEveryMs: 3_600_000 });
      const { database, node, settler, leased } = await withLock();
      settler.health.note(leasedDelivery({ webhook_id: 'WHK-1' }), success, began(0));
      for (const [index, delivery] of leased.entries()) {
        settler.add({ node, settlement: succeeded(delivery) });
        await eventually(
          () => deliveryRows(database),
          (rows) => rows.length === index + 2,
        );
      }
    });

    test('forgets its health when it is deleted', async () => {
      const { database, node, settler, leased, holder } = await withLock();
      settler.health.note(leasedDelivery({ webhook_id: 'WHK-1' }), success, began(0));
      for (const delivery of leased) settler.add({ node, settlement: succeeded(delivery) });
      await eventually(
        () => deliveryRows(database),
        (rows) => rows.length === 3,
      );
      expect(settler.health.isEmpty).toBe(false);
      await holder.query('commit');
      await settler.drain(performance.now() + 20_000);
      expect(settler.health.isEmpty).toBe(true);
    });

    test('tries a few times when it stops', async () => {
      const { database, refusing, node, settler, leased } = await withLock();
      refusing.settlements = 0;
      for (const delivery of leased) {
        settler.health.note(delivery, success, began(0));
        settler.add({ node, settlement: succeeded(delivery) });
      }
      await settler.stop(performance.now() + 500);
      expect(refusing.settlements).toBeLessThan(10);
      expect((await deliveryRows(database)).filter(({ status }) => status === 'success')).toHaveLength(2);
    });
  });
});
