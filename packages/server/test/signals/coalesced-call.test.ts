import { expect, test } from 'vitest';
import { CoalescedCall } from '../../src/signals/coalesced-call.js';

/** Work that ends when the test says so. */
function controlled() {
  const ends: ((value: number) => void)[] = [];
  const shared = new CoalescedCall(() => new Promise<number>((end) => ends.push(end)));
  return { shared, ends };
}

test('callers before it begins share one call', async () => {
  const { shared, ends } = controlled();
  const results = Promise.all([shared.call(), shared.call(), shared.call()]);
  await new Promise(setImmediate);
  expect(ends).toHaveLength(1);
  ends[0]!(7);
  expect(await results).toEqual([7, 7, 7]);
});

test('a caller during a running call gets the result of the next', async () => {
  const { shared, ends } = controlled();
  const first = shared.call();
  await new Promise(setImmediate);
  const later = Promise.all([shared.call(), shared.call()]);
  ends[0]!(1);
  expect(await first).toBe(1);
  await new Promise(setImmediate);
  expect(ends).toHaveLength(2);
  ends[1]!(2);
  expect(await later).toEqual([2, 2]);
});

test('a failed call does not affect the next', async () => {
  let calls = 0;
  const shared = new CoalescedCall(async () => {
    calls += 1;
    if (calls === 1) throw new Error('once');
    return calls;
  });
  await expect(shared.call()).rejects.toThrow('once');
  expect(await shared.call()).toBe(2);
});
