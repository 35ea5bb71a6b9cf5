import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Alarms } from '../../src/delivery/alarms.js';

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

function open() {
  const rung: { atMs: number; webhooks: readonly string[] }[] = [];
  const alarms = new Alarms((webhooks) => rung.push({ atMs: Date.now() - 1_000_000, webhooks }));
  const set = (atMs: number, stepMs: number, webhook?: string) =>
    alarms.setFor(1_000_000 + atMs, stepMs, webhook);
  return { alarms, rung, set };
}

test('those for about the same time ring once, never early, and tell of all webhooks', () => {
  const { rung, set } = open();
  set(101, 20, 'WHK-1');
  set(119, 20, 'WHK-2');
  set(105, 40, 'WHK-1');
  set(121, 20, 'WHK-3');
  vi.advanceTimersByTime(1_000);
  expect(rung).toEqual([
    { atMs: 120, webhooks: ['WHK-1', 'WHK-2'] },
    { atMs: 140, webhooks: ['WHK-3'] },
  ]);
});

test('one that is about no webhook is about whatever there is, whoever else asked', () => {
  const { rung, set } = open();
  set(10, 20, 'WHK-1');
  set(20, 20);
  set(15, 20, 'WHK-2');
  vi.advanceTimersByTime(20);
  expect(rung).toEqual([{ atMs: 20, webhooks: [] }]);
});

test('none rings after the stop', () => {
  const { alarms, rung, set } = open();
  set(10, 20);
  alarms.stop();
  vi.advanceTimersByTime(1_000);
  expect(rung).toEqual([]);
});
