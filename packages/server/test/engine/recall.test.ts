import { EventEmitter, once } from 'node:events';
import { pino } from 'pino';
import { buildConnector } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DeliveryEngine } from '../../src/engine/engine.js';
import { limits } from '../../src/engine/limits.js';
import { WebhookChanges } from '../../src/engine/webhook-changes.js';
import { recordBatch } from '../../src/events/recording-store.js';
import { Transport, type TransportOptions } from '../../src/sending/transport.js';
import { createAddressPolicy, parseCidrs } from '../../src/values/address.js';
import { SecretBox } from '../../src/values/secret-box.js';
import { WebhookDirectory } from '../../src/webhooks/directory.js';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  disableWebhook,
} from '../../src/webhooks/webhook-store.js';
import { batch, event } from '../support/client.js';
import { freshDatabase } from '../support/database.js';
import { noSettings } from '../support/deliveries.js';
import { startReceiver } from '../support/receiver.js';
import { eventually } from '../support/tenant.js';

const policy = createAddressPolicy(parseCidrs('127.0.0.0/8')!);
const webhook = {
  id: 'WHK-1',
  organization_id: 'ORG-acme',
  workspace_id: null,
  only_workspace_id: undefined,
};

/** An engine that reaches the network only as the test says, with one active webhook. */
async function startEngine(url: string, network: Partial<TransportOptions> = {}, random = () => 0) {
  const { database, url: databaseUrl } = await freshDatabase();
  const secrets = new SecretBox([Buffer.alloc(32, 7)]);
  const secret = secrets.seal('a secret of sixteen and more', webhook.id);
  const created = { created_at: new Date(), secret, ...noSettings };
  await createWebhook(database, { ...webhook, url, event_types: ['*'], ...created }, 100);
  await changeWebhook(database, webhook, { status: 'active' });
  const transport = new Transport({ policy, timeoutMs: 10_000, ...network });
  const attempts: string[] = [];
  const directory = new WebhookDirectory(database, secrets, limits);
  const logger = pino({ level: 'silent' });
  const engine = new DeliveryEngine({
    ...{ database, directory, logger, alone: true },
    target: { connectionString: databaseUrl },
    sender: { transport, userAgent: 'Posthorn/test', now: Date.now },
    retryScheduleMs: [60_000, 60_000, 60_000, 60_000],
    timeoutMs: 10_000,
    inFlightPerWebhook: 256,
    random,
    onRecorded: () => undefined,
    onDisabled: () => undefined,
    onSettled: () => undefined,
    onAttempt: (_delivery, _outcome, { kind }) => attempts.push(kind),
  });
  await engine.start();
  onTestFinished(async () => {
    await engine.stop();
    await transport.close();
  });
  const record = async () => {
    engine.accept(await recordBatch(database, batch([event()]), engine.room()));
  };
  const stored = async () => {
    const { rows } = await database.query<{ status: string; attempts: number; error: string | null }>({
      text: 'select status, attempts, error from posthorn.deliveries',
    });
    return rows[0];
  };
  const changes = new WebhookChanges({ database, directory, logger, alone: true, node: () => engine.node });
  return { database, changes, attempts, record, stored };
}

const isOver = (delivery: { status: string } | undefined) =>
  delivery !== undefined && delivery.status !== 'pending';

/** A look-up that is in flight until the test lets it end. */
function gate() {
  const signals = new EventEmitter();
  const [begun, opened] = [once(signals, 'begun'), once(signals, 'opened')];
  const resolve = async () => {
    signals.emit('begun');
    await opened;
    return ['127.0.0.1'];
  };
  return { resolve, begun, open: () => signals.emit('opened') };
}

describe('an attempt whose connection opens slowly', () => {
  const ends = {
    deleted: { status: 'cancelled', attempts: 0, error: null },
    disabled: { status: 'failed', attempts: 0, error: 'disabled' },
  } as const;

  test.each(['deleted', 'disabled'] as const)(
    'sends nothing if the webhook was %s in the meantime',
    async (how) => {
      const receiver = await startReceiver();
      const slow = gate();
      const url = receiver.url.replace('127.0.0.1', 'receiver.example');
      const { database, changes, attempts, record, stored } = await startEngine(url, {
        resolve: slow.resolve,
      });
      await record();
      await slow.begun;
      if (how === 'deleted') await deleteWebhook(database, webhook);
      else await disableWebhook(database, webhook, 'manual');
      await changes.forgetEverywhere(webhook);
      slow.open();
      expect(await eventually(stored, isOver)).toEqual(ends[how]);
      expect([receiver.deliveries.count, attempts]).toEqual([0, []]);
    },
  );

  test('uses the new URL if the webhook changed in the meantime', async () => {
    const [before, after] = [await startReceiver(), await startReceiver()];
    const slow = gate();
    const url = before.url.replace('127.0.0.1', 'receiver.example');
    const { database, changes, record, stored } = await startEngine(url, { resolve: slow.resolve });
    await record();
    await slow.begun;
    await changeWebhook(database, webhook, { url: after.url });
    await changes.forgetEverywhere(webhook);
    slow.open();
    await after.deliveries.nth(1);
    expect(await eventually(stored, isOver)).toMatchObject({
      status: 'success',
      attempts: 1,
    });
    expect(before.deliveries.count).toBe(0);
  });
});

test('a machine that cannot open connections makes no attempts, and continues when it can', async () => {
  const receiver = await startReceiver();
  const open = buildConnector({});
  const full = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE', syscall: 'connect' });
  let connections = 0;
  const { attempts, record, stored } = await startEngine(receiver.url, {
    connect: (target, callback) => {
      connections += 1;
      if (connections === 1) callback(full, null);
      else open(target, callback);
    },
  });
  await record();
  expect(await eventually(stored, isOver)).toEqual({
    status: 'success',
    attempts: 1,
    error: null,
  });
  expect([connections, attempts]).toEqual([2, ['delivered']]);
});

test('a bug in one delivery ends neither the process nor the delivery', async () => {
  const receiver = await startReceiver();
  let faults = 0;
  const { record, stored } = await startEngine(receiver.url, {}, () => {
    faults += 1;
    if (faults === 1) throw new Error('a fault of ours');
    return 0;
  });
  await record();
  expect(await eventually(stored, isOver)).toMatchObject({ status: 'success', attempts: 1 });
  expect([faults, receiver.deliveries.count]).toEqual([2, 2]);
});
