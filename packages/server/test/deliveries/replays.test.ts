import pg from 'pg';
import { expect, test } from 'vitest';
import {
  advanceReplay,
  createReplay,
  nextReplay,
  readReplay,
  runningMax,
} from '../../src/deliveries/replay-store.js';
import { recordBatch } from '../../src/events/recording-store.js';
import { changeWebhook, createWebhook } from '../../src/webhooks/webhook-store.js';
import { afterFile } from '../support/cleanup.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import { deliveryRows, noSettings } from '../support/deliveries.js';
import { recordText } from '../support/recording.js';

const { database, url } = await freshDatabase();
/** A caller with its own transactions. */
const caller = new pg.Client({ connectionString: url });
await caller.connect();
afterFile(() => caller.end());
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
async function start(
  webhook: { organization_id: string; id: string },
  only_failed = false,
): Promise<string | undefined> {
  const replay = await createReplay(database, {
    organization_id: webhook.organization_id,
    webhook_id: webhook.id,
    ...{ event_types: null, only_failed },
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

test('organizations take turns, however many replays each of them has', async () => {
  const webhooks = [await newWebhook(3), await newWebhook(3)] as const;
  const many = [await start(webhooks[0]), await start(webhooks[0]), await start(webhooks[0])];
  const one = await start(webhooks[1]);
  const turns: string[] = [];
  for (let replay = await step(1); replay; replay = await step(1)) turns.push(replay.id);
  expect(turns.slice(0, 6)).toEqual([many[0], one, many[1], one, many[2], one]);
});

test('a failing replay does not delay the others', async () => {
  const webhooks = [await newWebhook(1), await newWebhook(1)] as const;
  const [stuck, other] = [await start(webhooks[0]), await start(webhooks[1])];
  expect((await nextReplay(database))?.id).toBe(stuck);
  // Its step came to nothing; the next in line is another.
  expect((await step(100))?.id).toBe(other);
  while (await step(100));
});

test('a replay waits for transactions that can still add events of its range, and does not delay the others', async () => {
  const webhooks = [await newWebhook(1), await newWebhook(1)] as const;
  await caller.query('begin');
  await recordText(caller, JSON.stringify([event({ organization_id: webhooks[0].organization_id })]));
  await recordBatch(database, batch([event({ organization_id: webhooks[0].organization_id })]));
  const [waiting, other] = [await start(webhooks[0]), await start(webhooks[1])];
  expect(await step(100)).toMatchObject({
    id: waiting,
    status: 'running',
    done: 1,
    total: 2,
    at_horizon: true,
  });
  expect(await step(100)).toMatchObject({ id: other, status: 'done', done: 1 });
  expect(await step(100)).toMatchObject({ id: waiting, status: 'running', done: 1, at_horizon: true });
  await caller.query('commit');
  expect(await step(100)).toMatchObject({
    id: waiting,
    status: 'done',
    done: 3,
    total: 3,
    at_horizon: false,
  });
});

test('with only_failed, deliveries that wait for a retry become due, unless they are being attempted or are locked', async () => {
  const webhook = await newWebhook(5);
  await database.query({
    text: `
  insert into posthorn.deliveries
         (organization_id, webhook_id, created_at, id, event_id, event_type, event_created_at, due_at, attempts, leased_by,
          status)
  select organization_id, $2, created_at, 'WDLV-' || n, id, type, created_at, now() + interval '1 hour', 1,
         case n when 2 then 7 when 3 then 0 end, case n when 5 then 'success' else 'pending' end
    from (select *, row_number() over (order by id) as n from posthorn.events where organization_id = $1) e`,
    values: [webhook.organization_id, webhook.id],
  });
  await caller.query('begin');
  await caller.query(
    `select from posthorn.deliveries where organization_id = $1 and id = 'WDLV-4' for update`,
    [webhook.organization_id],
  );
  const id = await start(webhook, true);
  // All four count: each of them is about to be attempted, or is being changed by someone else.
  expect(await step(100)).toMatchObject({ id, status: 'done', done: 4, total: 4 });
  await caller.query('rollback');
  const rows = (await deliveryRows(database)).filter(
    ({ organization_id }) => organization_id === webhook.organization_id,
  );
  expect(rows.map((row) => [row.id, row.due_at <= new Date(), row.attempts, row.leased_by])).toEqual([
    ['WDLV-1', true, 1, null],
    ['WDLV-2', false, 1, 7],
    ['WDLV-3', true, 1, 0],
    ['WDLV-4', false, 1, null],
    ['WDLV-5', false, 1, null],
  ]);
});

test('with only_failed, two replays of a webhook at the same time queue one delivery for an event', async () => {
  const webhook = await newWebhook(2);
  const [first, second] = [await start(webhook, true), await start(webhook, true)];
  const key = (id: string | undefined) => ({
    ...{ organization_id: webhook.organization_id, webhook_id: webhook.id, id: String(id) },
  });
  await database.transaction(async (client) => {
    expect(await advanceReplay(client, key(first), 100)).toMatchObject({ status: 'done', done: 2 });
    // Another node.
    expect(await database.transaction((other) => advanceReplay(other, key(second), 100))).toBeUndefined();
  });
  while (await step(100));
  expect(await readReplay(database, key(second))).toMatchObject({ status: 'done', done: 0, total: 0 });
});

test('the number of running replays per webhook is limited', async () => {
  const webhook = await newWebhook(1);
  for (let n = 1; n <= runningMax; n += 1) expect(await start(webhook)).toBeDefined();
  expect(await start(webhook)).toBeUndefined();
  expect(await start(await newWebhook(1))).toBeDefined();
  while (await step(100));
  expect(await start(webhook)).toBeDefined();
});
