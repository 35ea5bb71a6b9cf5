import { pino } from 'pino';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
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

  test('no name where they are too many for a notification', async () => {
    const { database, url } = await withNode();
    for (let n = 100; n < 300; n += 1) await subscribe(database, { id: `WHK-${n}${'0'.repeat(33)}` });
    const heard = await listening(url);
    await recordText(database, JSON.stringify([event()]));
    expect(await heard(1)).toEqual([[]]);
  });
});

/** A claimer, and how often it asked the database. */
async function claimer(onAnnounced: (shares: readonly LeftShare[]) => boolean) {
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
    ...{
      node: () => node,
      room: () => 10_000,
      onAnnounced,
      onDue: nothing,
      onBundled: nothing,
      onLeft: nothing,
    },
    standing: () => ({ busy: [], busyWithDue: [], answering: [] }),
  });
  onTestFinished(() => made.stop());
  return { claimer: made, claims: () => claims };
}

/** A claimer that finds no room for anybody, and when it was told of whom. */
function idle() {
  const heard: [number, string[]][] = [];
  const nothing = () => undefined;
  const made = new Claimer({} as Database, pino({ level: 'silent' }), {
    ...{ node: nothing, room: () => 0, onDue: nothing, onBundled: nothing, onLeft: nothing },
    standing: () => ({ busy: [], busyWithDue: [], answering: [] }),
    onAnnounced: (shares) => {
      heard.push([Date.now() - 1_000_000, shares.map(({ webhook_id: id }) => id)]);
      return false;
    },
  });
  return { claimer: made, heard };
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

  test('looks for retries together: late by no more than a part of their wait, and not before the poll would', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'Date'], now: 1_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    const { claimer: one, heard } = idle();
    for (const [webhook, atMs, lateMs] of [
      ['WHK-1', 1_001, 0],
      ['WHK-2', 5_001, 250],
      ['WHK-3', 5_119, 250],
      ['WHK-4', 60_000, 3_000],
    ] as const)
      one.expectRetry(webhook, 1_000_000 + atMs, lateMs);
    vi.advanceTimersByTime(100_000);
    expect(heard).toEqual([
      [1_020, ['WHK-1']],
      [5_120, ['WHK-2', 'WHK-3']],
    ]);
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
