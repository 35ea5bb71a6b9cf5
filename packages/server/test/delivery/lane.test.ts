import { expect, test } from 'vitest';
import { Lane } from '../../src/delivery/lane.js';
import type { LeasedDelivery } from '../../src/storage/leased-delivery.js';

function delivery(number: number): LeasedDelivery {
  const at = new Date(0);
  return {
    organization_id: 'ORG-acme',
    webhook_id: 'WHK-1',
    delivery_created_at: at,
    delivery_id: `WDLV-${number}`,
    attempts: 0,
    event_id: `EVT-${number}`,
    type: 'invoice.paid',
    event_created_at: at,
    workspace_id: null,
    payload: '{}',
  };
}

function laneWith(count: number): Lane {
  const lane = new Lane('ORG-acme', 'WHK-1');
  lane.succeeded();
  for (let number = 0; number < count; number += 1) lane.push(delivery(number));
  return lane;
}

test('a webhook that turns to failing gives back what it had in memory beyond a little, oldest kept', () => {
  const lane = laneWith(1_000);
  expect(lane.takeExcess()).toEqual([]);
  for (let failure = 0; failure < 5; failure += 1) lane.failed();
  const excess = lane.takeExcess();
  expect(excess.length + lane.queued).toBe(1_000);
  expect(lane.queued).toBeLessThan(200);
  expect(lane.shift()?.delivery_id).toBe('WDLV-0');
  while (lane.shift());
  expect(lane.wantsDue).toBe(true);
  expect(lane.queuedBytes).toBe(0);
});

test('what a claim brings to a webhook that keeps failing fits, so that it does not go back and forth', () => {
  const lane = laneWith(0);
  for (let failure = 0; failure < 5; failure += 1) lane.failed();
  let number = 0;
  while (!lane.hasEnough) lane.push(delivery(number++));
  expect(lane.hasRoomForDue).toBe(true);
  while (lane.hasRoomForDue) lane.push(delivery(number++), true);
  for (let claimed = 1; claimed < 100; claimed += 1) lane.push(delivery(number++), true);
  expect(lane.isSaturated).toBe(false);
  expect(lane.takeExcess()).toEqual([]);
});

test('a claim that began before something was left in the database does not tell that nothing is', () => {
  const lane = laneWith(0);
  const beganMs = performance.now();
  lane.bundles.expect();
  lane.rows.expect();
  lane.bundles.expectNone(beganMs, true);
  lane.rows.expectNone(beganMs, true);
  expect([lane.wantsBundles, lane.wantsDue]).toEqual([true, true]);
  lane.bundles.expectNone(performance.now() + 1, false);
  lane.rows.expectNone(performance.now() + 1, false);
  expect([lane.wantsBundles, lane.wantsDue]).toEqual([false, false]);
});

test('what is due takes turns with what is new, however much of that there is, and is claimed beside it', () => {
  const lane = laneWith(6_000);
  expect(lane.hasRoomForDue).toBe(true);
  for (let number = 0; number < 3; number += 1) lane.push(delivery(10_000 + number), true);
  const started = Array.from({ length: 8 }, () => lane.shift()!.delivery_id);
  expect(started).toEqual([10_000, 0, 10_001, 1, 10_002, 2, 3, 4].map((number) => `WDLV-${number}`));
});

test.each(['bundles', 'rows'] as const)(
  'once new ones were left in the database in %s, those that follow queue behind them, until nothing is left there',
  (kind) => {
    const lane = laneWith(8_000);
    expect(lane.hasEnough).toBe(true);
    lane[kind].grow();
    while (lane.shift());
    expect([lane.hasEnough, lane.wantsBundles || lane.wantsDue]).toEqual([true, true]);
    lane[kind].expectNone(performance.now() + 1, false);
    expect([lane.hasEnough, lane.wantsBundles || lane.wantsDue]).toEqual([false, false]);
  },
);

test('a claim that left nothing lets new ones come at once again, also where more came while it ran, if that is claimed next', () => {
  const lane = laneWith(0);
  const beganMs = performance.now();
  lane.bundles.grow();
  lane.bundles.expectNone(beganMs, false);
  expect([lane.hasEnough, lane.wantsBundles]).toEqual([true, true]);
  lane.bundles.expectNone(beganMs, true);
  expect([lane.hasEnough, lane.wantsBundles]).toEqual([false, true]);
});

test('a webhook that does not answer is left nothing new while there is a little of it in memory', () => {
  const lane = laneWith(0);
  for (let failure = 0; failure < 5; failure += 1) lane.failed();
  expect(lane.hasEnough).toBe(false);
  for (let number = 0; number < 100; number += 1) lane.push(delivery(number));
  expect([lane.hasEnough, lane.isSaturated]).toEqual([true, false]);
  lane.succeeded();
  expect(lane.hasEnough).toBe(false);
});

test('large payloads fill the memory of a webhook that answers as many small ones do', () => {
  const lane = laneWith(0);
  lane.succeeded();
  lane.bundles.expect();
  const large = { ...delivery(1), payload: 'x'.repeat(100_000) };
  for (let number = 0; number < 30; number += 1) lane.push(large);
  expect([lane.hasEnough, lane.wantsBundles]).toEqual([false, false]);
  for (let number = 0; number < 60; number += 1) lane.push(large);
  expect(lane.hasEnough).toBe(true);
  while (lane.shift());
  expect([lane.hasEnough, lane.wantsBundles]).toEqual([false, true]);
});
