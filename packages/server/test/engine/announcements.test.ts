import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { queueRedelivery } from '../../src/deliveries/delivery-store.js';
import { recordBatch } from '../../src/events/recording-store.js';
import { NotificationListener } from '../../src/postgres/connection.js';
import { batch, event } from '../support/client.js';
import { eventsOf, recordFor, roomOf, subscribe, withNode } from '../support/deliveries.js';
import { recordText } from '../support/recording.js';
import { eventually } from '../support/tenant.js';

/** Returns what was announced since the last call. A last word of the test's own shows that nothing else is to come. */
async function listening(connectionString: string) {
  const heard: string[] = [];
  const listener = new NotificationListener({ connectionString }, 'posthorn_deliveries', (payload) =>
    heard.push(payload),
  );
  onTestFinished(() => listener.stop());
  await listener.start();
  heard.splice(0);
  const client = new pg.Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  return async () => {
    await client.query("select pg_notify('posthorn_deliveries', 'that is all')");
    await eventually(
      async () => heard,
      (all) => all.at(-1) === 'that is all',
    );
    return heard.splice(0).slice(0, -1);
  };
}

describe('nodes are woken', () => {
  test('by a recording without a node, once, whatever its webhooks', async () => {
    const { database, url } = await withNode();
    await subscribe(database, { id: 'WHK-2' });
    const heard = await listening(url);
    await recordText(database, JSON.stringify(eventsOf('ORG-acme', 5)));
    expect(await heard()).toEqual(['']);
  });

  test('by a redelivery', async () => {
    const { database, node, url } = await withNode();
    const { events, leased } = await recordFor(database, node, 1);
    const heard = await listening(url);
    const { organization_id, webhook_id } = leased[0]!;
    const { id: event_id, created_at: event_created_at } = events[0]!;
    const again = { organization_id, webhook_id, event_id, event_created_at };
    expect(await queueRedelivery(database, again)).toMatchObject({ event_id, status: 'pending' });
    expect(await heard()).toEqual(['']);
  });

  test('by many recordings in a row only from time to time: commits that notify wait for each other', async () => {
    const { database, url } = await withNode();
    const heard = await listening(url);
    const startedMs = performance.now();
    for (let n = 0; n < 60; n += 1) await recordBatch(database, batch(eventsOf('ORG-acme', 1)));
    const tookMs = performance.now() - startedMs;
    const { length } = await heard();
    expect(length).toBeGreaterThan(0);
    expect(length).toBeLessThanOrEqual(Math.floor(tookMs / 50) + 1);
  });

  test('even after the clock was set back', async () => {
    const { database, url } = await withNode();
    const heard = await listening(url);
    await database.query({
      text: "select setval('posthorn.last_announcement', posthorn.epoch_ms(clock_timestamp()) + 3600000)",
    });
    await recordFor(database, null, 1);
    expect(await heard()).toEqual(['']);
  });

  test.each([
    ['has room for everything', {}],
    ['leaves some of it, which it knows', { each: 2 }],
  ])('not by a recording of a node that %s', async (_, room) => {
    const { database, node, url } = await withNode();
    const heard = await listening(url);
    await recordBatch(database, batch(eventsOf('ORG-acme', 5)), roomOf(node, room));
    expect(await heard()).toEqual([]);
  });

  test('not by a recording without deliveries', async () => {
    const { database, url } = await withNode();
    const heard = await listening(url);
    await recordText(database, JSON.stringify([event({ organization_id: 'ORG-nobody' })]));
    expect(await heard()).toEqual([]);
  });
});
