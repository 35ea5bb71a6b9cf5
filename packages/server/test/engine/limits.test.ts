import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { drainMsMax } from '../../src/cli/serve-processes.js';
import { limits, limitTable } from '../../src/engine/limits.js';
import { stopMsMax } from '../../src/processes/supervisor.js';

test('every limit has a positive value, a unit and a reason', () => {
  for (const [name, [value, unit, reason]] of Object.entries(limitTable)) {
    expect([name, value > 0, unit !== undefined, reason.endsWith('.')]).toEqual([name, true, true, true]);
  }
});

const smallerFirst: [string, readonly (keyof typeof limits)[]][] = [
  [
    'a failing webhook has less in flight than a new one, and any less than all together',
    ['windowFailing', 'windowAtStart', 'windowUsual', 'windowMax', 'slots'],
  ],
  [
    'webhooks that are not healthy leave slots to the healthy',
    ['elasticUnhealthySlots', 'unhealthySlots', 'slots'],
  ],
  ['one webhook that grew leaves a slot to others', ['windowMax', 'elasticSlots', 'slots']],
  [
    'the less a webhook responds, the less of it is in memory',
    ['queuedMin', 'laneQueuedFailing', 'laneQueuedNew', 'laneQueued', 'queued'],
  ],
  ['webhooks that do not respond fill at most a part of the memory', ['unresponsiveBytes', 'queuedBytes']],
  ['the reserve is a part of the memory', ['queuedReserve', 'queued']],
  [
    'payloads in flight to webhooks that are not healthy leave a part',
    ['unhealthyInFlightBytes', 'inFlightBytes'],
  ],
  ['what one claim brings fits into memory', ['claimEach', 'claimDeliveries', 'queued']],
  [
    'a notification is followed up after those that it kept back, and before the poll',
    ['wakeMs', 'announcedMs', 'pollMs'],
  ],
  [
    'a batch of outcomes is written long before so many wait that sending stops',
    ['healthOutcomes', 'settleOutcomes', 'unsettledOutcomes'],
  ],
  ['a webhook is read again twice before it may not be trusted', ['refreshEveryMs', 'refreshMs', 'trustMs']],
  ['a lease may miss a renewal', ['renewEveryMs', 'leaseMarginMs']],
  ['a stop drains within 10 s', ['alignWithinMs', 'drainMs']],
];

test.each(smallerFirst)('%s', (_, names) => {
  const values = names.map((name) => limits[name]);
  expect(values).toEqual([...values].sort((a, b) => a - b));
});

test('even after a payload of the maximum size, there are bytes in flight left for small ones', () => {
  const largest = 2 * 8 * 1024 * 1024;
  for (const limit of [limits.inFlightBytes, limits.unhealthyInFlightBytes]) {
    const free = limit * (1 - limits.firstFraction) - largest;
    expect(free * limits.laneFraction).toBeGreaterThan(limits.windowAtStart * 3_000);
  }
});

test('what one claim brings fits into memory, in bytes', () => {
  expect(limits.claimBytes).toBeLessThan(limits.queuedBytes * limits.laneFraction);
});

test('a lane that is full of recordings still claims retries', () => {
  expect(1 - limits.recordedFraction).toBeGreaterThan(limits.claimRoomMin);
});

test('a failing webhook keeps at least as much in memory as it may have in flight', () => {
  expect(limits.laneQueuedFailing).toBeGreaterThan(limits.windowFailing);
});

test('a process ends only after its engine has drained and signed off, and before the supervisor kills it', () => {
  expect(drainMsMax - limits.drainMs).toBeGreaterThanOrEqual(900);
  expect(stopMsMax).toBeGreaterThan(drainMsMax);
  expect(stopMsMax).toBeLessThan(10_000);
});

test('the limits add up: what the healthy cannot use, the others can', () => {
  expect(limits.elasticUnhealthySlots + limits.windowUsual).toBeLessThanOrEqual(limits.unhealthySlots);
  expect(limits.unhealthySlots + limits.windowMax).toBeLessThanOrEqual(limits.slots);
  expect(limits.spareSlots).toBeLessThan(limits.slots);
  expect(limits.drainMs).toBeLessThan(10_000);
});

test('a node claims again after the time in which the database sends no other notification', async () => {
  const file = new URL('../../schema/functions/announce_waiting.sql', import.meta.url);
  const keptBackMs = Number(/between 0 and (\d+)/.exec(await readFile(file, 'utf8'))?.[1]) + 1;
  expect(limits.announcedMs).toBeGreaterThan(keptBackMs);
});
