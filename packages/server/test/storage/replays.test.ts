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

/**
 * Starts a replay and returns its id, or undefined if there are too many. Resolves in the next millisecond: replays of
 * the same one have no order.
 */
async function start(webhook: { organization_id: string; id: string }): Promise<string | undefined> {
  const replay = await createReplay(database, {
    organization_id: webhook.organization_id,
    webhook_id: webhook.id,
    ...{ event_types: null, only_failed: false },
    ...{ from_at: new Date(Date.now() - 60_000), to_at: new Date(Date.now() + 60_000) },
  });
  const at = Date.now();
  while (Date.now() === at);
  return replay?.id;
}

async function step(pageSize: number) {
  const replay = await nextReplay(database);
  return replay && database.transaction((client) => advanceReplay(client, replay, pageSize));
}

test('replays take turns, so that a long one does not delay the others', async () => {
  const webhooks = [await newWebhook(5), await newWebhook(2)] as const;
  const [long, short] = [await start(webhooks[0]), await start(webhooks[1])];
  const turns: string[] = [];
  for (let replay = await step(1); replay; replay = await step(1)) turns.push(replay.id);
  expect(turns.slice(0, 6)).toEqual([long, short, long, short, long, short]);
  expect(turns.filter((id) => id === long)).toHaveLength(6);
});

test('a failing replay does not delay the others', async () => {
  const webhooks = [await newWebhook(1), await newWebhook(1)] as const;
  const [stuck, other] = [await start(webhooks[0]), await start(webhooks[1])];
  expect((await nextReplay(database))?.id).toBe(stuck);
  // Its step came to nothing; the next in line is another.
  expect((await step(100))?.id).toBe(other);
  while (await step(100));
});

test('the number of running replays per webhook is limited', async () => {
  const webhook = await newWebhook(1);
  for (let n = 1; n <= runningMax; n += 1) expect(await start(webhook)).toBeDefined();
  expect(await start(webhook)).toBeUndefined();
  expect(await start(await newWebhook(1))).toBeDefined();
  while (await step(100));
  expect(await start(webhook)).toBeDefined();
});
