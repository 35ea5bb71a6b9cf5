import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryCounter } from '../../src/stats/webhook-stats-store.js';
import { freshDatabase } from '../support/database.js';
import { subscribe } from '../support/deliveries.js';

const hourMs = 3_600_000;
const { database } = await freshDatabase();
let counter: DeliveryCounter;
let webhook: { organization_id: string; webhook_id: string };
let number = 0;
/** A whole hour, so that what happens in it does not depend on when the tests run. */
const now = new Date(Math.floor(Date.now() / hourMs) * hourMs + hourMs / 2);
const since = new Date(now.getTime() - 48 * hourMs);

beforeAll(async () => {
  for (const daysAgo of [0, 1, 2]) {
    await database.query({
      text: "select posthorn.ensure_partition('deliveries', $1::date)",
      values: [new Date(now.getTime() - daysAgo * 24 * hourMs)],
    });
  }
});

beforeEach(async () => {
  number += 1;
  const { organization_id, id } = await subscribe(database, { id: `WHK-${number}` });
  webhook = { organization_id, webhook_id: id };
  counter = new DeliveryCounter(database);
});

/** A delivery that was created so many hours ago. */
async function add(hoursAgo: number, status: string, durationMs: number | null = null): Promise<void> {
  number += 1;
  await database.query({
    text: `
  insert into posthorn.deliveries (organization_id, webhook_id, created_at, id, event_id, event_type,
                                   event_created_at, due_at, status, attempts, duration_ms)
  values ($1, $2, $3, $4, $4, 'invoice.paid', $3, $3, $5, 1, $6)`,
    values: [
      ...[webhook.organization_id, webhook.webhook_id, new Date(now.getTime() - hoursAgo * hourMs)],
      ...[`X-${number}`, status, durationMs],
    ],
  });
}

const read = () => counter.read(webhook, since, now);
const hourOf = async (hoursAgo: number) => (await read()).hours.at(-1 - hoursAgo)!;

test('there is an entry per hour, and the first counts only from the 48th hour on', async () => {
  await add(48.1, 'success');
  await add(47.9, 'success');
  const { hours, success } = await read();
  expect(hours.length).toBe(49);
  expect([success, hours[0]]).toEqual([
    1,
    { hour: new Date(since.getTime() - hourMs / 2), success: 1, failed: 0 },
  ]);
});

test('every hour is counted, even in many statements', async () => {
  for (let hoursAgo = 0; hoursAgo < 48; hoursAgo += 1) {
    for (let n = 0; n <= hoursAgo % 3; n += 1) await add(hoursAgo, n === 2 ? 'failed' : 'success');
  }
  const stats = await read();
  expect([stats.success, stats.failed]).toEqual([16 + 32 + 32, 16]);
  for (const [index, { success, failed }] of [...stats.hours].reverse().slice(0, 48).entries())
    expect([success, failed]).toEqual([Math.min(2, (index % 3) + 1), index % 3 === 2 ? 1 : 0]);
  expect(await read()).toEqual(stats);
});

describe('a past hour', () => {
  test('is counted only once', async () => {
    await add(5, 'success');
    expect(await hourOf(5)).toMatchObject({ success: 1, failed: 0 });
    await add(5, 'success');
    expect(await hourOf(5)).toMatchObject({ success: 1, failed: 0 });
  });

  test('is counted again while it has pending deliveries', async () => {
    await add(5, 'success');
    await add(5, 'pending');
    expect(await read()).toMatchObject({ success: 1, pending: 1 });
    await database.query({
      text: "update posthorn.deliveries set status = 'failed' where webhook_id = $1 and status = 'pending'",
      values: [webhook.webhook_id],
    });
    expect(await read()).toMatchObject({ success: 1, failed: 1, pending: 0, oldest_undelivered_at: null });
  });

  test('is counted again while a transaction of its organization that recorded in it is open', async () => {
    await add(5, 'success');
    await database.transaction(async (client) => {
      // As posthorn.announce_recording did then.
      await client.query({
        text: `
  select pg_advisory_xact_lock_shared(
           (83::bigint << 56) | (posthorn.horizon_bucket($1)::bigint << 44) | $2::bigint)`,
        values: [webhook.organization_id, now.getTime() - 6 * hourMs],
      });
      expect(await hourOf(5)).toMatchObject({ success: 1 });
    });
    await add(5, 'success');
    expect(await hourOf(5)).toMatchObject({ success: 2 });
  });

  test('is forgotten when it is older than the statistics', async () => {
    await add(40, 'success');
    expect((await read()).success).toBe(1);
    const later = new Date(now.getTime() + 9 * hourMs);
    expect((await counter.read(webhook, new Date(later.getTime() - 48 * hourMs), later)).success).toBe(0);
  });
});

test('the current hour is counted again each time', async () => {
  await add(0, 'success');
  expect(await hourOf(0)).toMatchObject({ success: 1 });
  await add(0, 'success');
  expect(await hourOf(0)).toMatchObject({ success: 2 });
});

test('durations are those of successful deliveries', async () => {
  for (const ms of [10, 20, 30, 40]) await add(1, 'success', ms);
  await add(1, 'failed', 9_000);
  expect(await read()).toMatchObject({ p50: 20, p95: 40 });
});
