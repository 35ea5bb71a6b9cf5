import { expect, test } from 'vitest';
import { recordBatch } from '../../src/storage/recording.js';
import { advanceReplay, createReplay, nextReplay, runningMax } from '../../src/storage/replays.js';
import { changeWebhook, createWebhook } from '../../src/storage/webhooks.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import { noSettings } from '../support/deliveries.js';

const { database } = await freshDatabase();
let made = 0;

/** An organization with some events, and a webhook that was made after them. */
async function newWebhook(events: number) {
  made += 1;
  const webhook = { organization_id: `ORG-${made}`, id: `WHK-${made}` };
  const recorded = Array.from({ length: events }, () => event({ organization_id: webhook.organization_id }));
  await recordBatch(database, batch(recorded));
  const created = {
    created_at: new Date(),
    secret: Buffer.alloc(1),
    url: 'http://127.0.0.1/',
    ...noSettings,
  };
  await createWebhook(database, { ...webhook, workspace_id: null, event_types: ['*'], ...created }, 100);
  await changeWebhook(database, webhook, { status: 'active' });
  return webhook;
}

const start = (webhook: { organization_id: string; id: string }, id: string) =>
  createReplay(database, {
    organization_id: webhook.organization_id,
    webhook_id: webhook.id,
    ...{ id, event_types: null, only_failed: false, created_at: new Date() },
    ...{ from_at: new Date(Date.now() - 60_000), to_at: new Date(Date.now() + 60_000) },
  });

async function step(pageSize: number) {
  const replay = await nextReplay(database);
  return replay && database.transaction((client) => advanceReplay(client, replay, pageSize));
}

test('replays take turns, so that a long one does not delay the others', async () => {
  const [long, short] = [await newWebhook(5), await newWebhook(2)];
  await start(long, 'RPL-long');
  await start(short, 'RPL-short');
  const turns: string[] = [];
  for (let replay = await step(1); replay; replay = await step(1)) turns.push(replay.id);
  expect(turns.slice(0, 6)).toEqual([
    ...['RPL-long', 'RPL-short'],
    ...['RPL-long', 'RPL-short'],
    ...['RPL-long', 'RPL-short'],
  ]);
  expect(turns.filter((id) => id === 'RPL-long')).toHaveLength(6);
});

test('a failing replay does not delay the others', async () => {
  const [stuck, other] = [await newWebhook(1), await newWebhook(1)];
  await start(stuck, 'RPL-stuck');
  await start(other, 'RPL-other');
  expect((await nextReplay(database))?.id).toBe('RPL-stuck');
  // Its step came to nothing; the next in line is another.
  expect((await step(100))?.id).toBe('RPL-other');
  while (await step(100));
});

test('the number of running replays per webhook is limited', async () => {
  const webhook = await newWebhook(1);
  for (let n = 1; n <= runningMax; n += 1) expect(await start(webhook, `RPL-${n}`)).toBeDefined();
  expect(await start(webhook, 'RPL-more')).toBeUndefined();
  expect(await start(await newWebhook(1), 'RPL-of-another')).toBeDefined();
  while (await step(100));
  expect(await start(webhook, 'RPL-later')).toBeDefined();
});
