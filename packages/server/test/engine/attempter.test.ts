import { signingKey } from '@posthorn/receiver';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Attempter, type AttempterOptions } from '../../src/engine/attempter.js';
import { HealthReports } from '../../src/engine/health.js';
import { Lane } from '../../src/engine/lane.js';
import { Lanes } from '../../src/engine/lanes.js';
import type { Entry } from '../../src/engine/settler.js';
import { leasedDelivery } from '../support/deliveries.js';

/** An attempter whose webhook is active and whose receiver responds with 200. */
function withAttempter(change: { whileReading?: () => void; onAttempt?: () => void } = {}) {
  const lease = { id: 1, coversAttempt: true, shareOf: (limit?: number) => limit };
  const settled: Entry[] = [];
  let sent = 0;
  const target = {
    origin: 'http://x',
    path: '/',
    headers: [],
    key: signingKey('s'.repeat(16)),
    bodyOf: () => '{}',
    url: 'http://x/',
  };
  const options = {
    lease,
    lanes: new Lanes(() => undefined),
    directory: {
      peek: () => undefined,
      get: async () => {
        change.whileReading?.();
        return { kind: 'active', target };
      },
    },
    sender: {
      now: () => Date.now(),
      userAgent: 'test',
      transport: {
        post: async () => {
          sent += 1;
          return { kind: 'response', httpStatus: 200, durationMs: 1, response: null, headers: {} };
        },
      },
    },
    settler: {
      isStopped: false,
      add: (entry: Entry) => void settled.push(entry),
      health: new HealthReports(),
    },
    logger: pino({ level: 'silent' }),
    retryScheduleMs: [1],
    timeoutMs: 10_000,
    random: () => 0,
    onRetry: () => undefined,
    onRead: () => undefined,
    onAttempt: () => change.onAttempt?.(),
  } as unknown as AttempterOptions;
  const delivery = leasedDelivery();
  const lane = new Lane(delivery.organization_id, delivery.webhook_id);
  const run = () => new Attempter(options).run({ lane, delivery, bytes: 0, isUnhealthy: true });
  return { lease, run, settled, sent: () => sent };
}

test('an attempt is settled once', async () => {
  const { run, settled, sent } = withAttempter();
  expect(await run()).toMatchObject({ kind: 'delivered' });
  expect(sent()).toBe(1);
  expect(settled).toMatchObject([{ node: 1, settlement: { status: 'success' } }]);
});

test('a node that got a new id while it read the webhook does not start the attempt, because another may make it', async () => {
  const { lease, run, settled, sent } = withAttempter({
    whileReading: () => {
      lease.id = 2;
    },
  });
  expect(await run()).toEqual({ kind: 'not attempted' });
  expect(sent()).toBe(0);
  expect(settled).toMatchObject([{ node: 1, settlement: { status: 'pending' } }]);
});

test('a bug after an attempt does not settle its delivery twice, which would lose another one of its hand-off', async () => {
  const { run, settled } = withAttempter({
    onAttempt: () => {
      throw new Error('a bug');
    },
  });
  expect(await run()).toEqual({ kind: 'not attempted' });
  expect(settled).toMatchObject([{ node: 1, settlement: { status: 'pending' } }]);
});
