import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Claimer } from '../../src/delivery/claimer.js';
import type { Database, Statement } from '../../src/storage/database.js';
import { NotificationListener } from '../../src/storage/listener.js';
import { announcedShares, type LeftShare, recordBatch } from '../../src/storage/recording.js';
import { subscribe, withNode } from '../support/bundles.js';
import { batch, event } from '../support/client.js';
import { recordText } from '../support/recording.js';
import { eventually } from '../support/tenant.js';

/** What is announced from now on. */
async function listening(connectionString: string) {
  const heard: (readonly LeftShare[])[] = [];
  const listener = new NotificationListener({ connectionString }, 'posthorn_deliveries', (payload) =>
    heard.push(announcedShares(payload)),
  );
  onTestFinished(() => listener.stop());
  await listener.start();
  heard.splice(0);
  return (count: number) =>
    eventually(
      async () => heard,
      (all) => all.length === count,
    );
}

describe('a recording announces', () => {
  test('whose deliveries no node has: the webhooks by name, once', async () => {
    const { database, node, url } = await withNode();
    await subscribe(database, { id: 'WHK-2' });
    const heard = await listening(url);
    await recordBatch(database, batch([event(), event()]), { node, saturated: ['WHK-1'] });
    await recordText(database, JSON.stringify(Array.from({ length: 5 }, () => event())));
    expect(await heard(2)).toEqual([
      [{ webhook_id: 'WHK-1', bundled: false }],
      [
        { webhook_id: 'WHK-1', bundled: true },
        { webhook_id: 'WHK-2', bundled: true },
      ],
    ]);
  });

  test('nothing where a node has them all', async () => {
    const { database, node, url } = await withNode();
    const heard = await listening(url);
    await recordBatch(database, batch([event()]), { node, saturated: [] });
    await recordText(database, JSON.stringify([event()]));
    expect(await heard(1)).toEqual([[{ webhook_id: 'WHK-1', bundled: false }]]);
  });

  test('no name where there are too many', async () => {
    const { database, url } = await withNode();
    for (let n = 2; n <= 201; n += 1) await subscribe(database, { id: `WHK-${n}` });
    const heard = await listening(url);
    await recordText(database, JSON.stringify([event()]));
    expect(await heard(1)).toEqual([[]]);
  });
});

/** A claimer, and how often it asked the database. */
async function claimer(isNews: (shares: readonly LeftShare[]) => boolean) {
  const { database, node } = await withNode();
  let claims = 0;
  const counted = {
    query: (statement: Statement) => {
      if (statement.name === 'claim deliveries') claims += 1;
      return database.query(statement);
    },
  } as Database;
  const nothing = () => undefined;
  const made = new Claimer(counted, pino({ level: 'silent' }), {
    ...{ node: () => node, room: () => 10_000, isNews, onDue: nothing, onBundled: nothing, onLeft: nothing },
    standing: () => ({ busy: [], busyWithDue: [], answering: [] }),
  });
  onTestFinished(() => made.stop());
  return { claimer: made, claims: () => claims };
}

const claimed = (claims: () => number) =>
  eventually(
    async () => claims(),
    (count) => count > 0,
  );

describe('a node that hears of new deliveries', () => {
  test('does not look for them where their webhooks have enough to do here', async () => {
    const heard: (readonly LeftShare[])[] = [];
    const { claimer: one, claims } = await claimer((shares) => {
      heard.push(shares);
      return false;
    });
    one.announce([{ webhook_id: 'WHK-busy', bundled: true }]);
    one.expectRetry('WHK-busy', Date.now(), 0);
    await eventually(
      async () => heard.length,
      (count) => count === 2,
    );
    await one.stop();
    expect(claims()).toBe(0);
    expect(heard).toEqual([true, false].map((bundled) => [{ webhook_id: 'WHK-busy', bundled }]));
  });

  test.each([
    [
      'a webhook of theirs has room',
      (one: Claimer) => one.announce([{ webhook_id: 'WHK-idle', bundled: true }]),
    ],
    ['no webhook is named', (one: Claimer) => one.announce([])],
    ['a retry is due that has room', (one: Claimer) => one.expectRetry('WHK-idle', Date.now(), 0)],
  ])('looks for them where %s', async (_, tell) => {
    const { claimer: one, claims } = await claimer(() => true);
    tell(one);
    expect(await claimed(claims)).toBe(1);
  });
});
