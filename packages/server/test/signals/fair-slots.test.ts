import { expect, test } from 'vitest';
import { FairSlots } from '../../src/signals/fair-slots.js';

/** Takes slots for tasks such as `a1`, of the owner `a`, and ends them when the test says so. */
function tasksIn(slots: FairSlots) {
  const started: string[] = [];
  const releases = new Map<string, () => void>();
  const take = (task: string) =>
    slots.take(task[0]!, (release) => {
      started.push(task);
      releases.set(task, release);
    });
  return { started, take, end: (task: string) => releases.get(task)!() };
}

test('the owner with the fewest tasks in progress is next, however many others wait', () => {
  const { started, take, end } = tasksIn(new FairSlots(2));
  for (const task of ['a1', 'a2', 'a3', 'a4', 'b1']) take(task);
  end('a1');
  expect(started).toEqual(['a1', 'a2', 'b1']);
  end('a2');
  end('b1');
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
});

test('owners with equally many tasks in progress take turns', () => {
  const { started, take, end } = tasksIn(new FairSlots(1));
  for (const task of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) take(task);
  const order = ['a1', 'a2', 'b1', 'c1', 'a3', 'b2'];
  for (const task of order) end(task);
  expect(started).toEqual(order);
});

test('a task that stops waiting does not start, and takes no slot', () => {
  const { started, take, end } = tasksIn(new FairSlots(1));
  take('a1');
  const stopWaiting = take('a2');
  take('a3');
  stopWaiting();
  end('a1');
  end('a3');
  take('b1');
  expect(started).toEqual(['a1', 'a3', 'b1']);
});

test('a task that is aborted while it waits is not run, and one that fails gives its slot back', async () => {
  const slots = new FairSlots(1);
  const never = new AbortController().signal;
  const leaving = new AbortController();
  let fail: (error: Error) => void = () => undefined;
  const failed = slots.run('a', never, () => new Promise((_, reject) => (fail = reject)));
  const aborted = slots.run('b', leaving.signal, async () => 'ran');
  leaving.abort();
  expect(await aborted).toBeUndefined();
  expect(await slots.run('b', leaving.signal, async () => 'ran')).toBeUndefined();
  const last = slots.run('c', never, async () => 'ran');
  fail(new Error('of a'));
  await expect(failed).rejects.toThrow('of a');
  expect(await last).toBe('ran');
});
