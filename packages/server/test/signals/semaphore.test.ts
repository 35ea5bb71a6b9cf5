import { expect, test, vi } from 'vitest';
import { Semaphore } from '../../src/signals/semaphore.js';
import { endSharedService } from '../support/service.js';

await endSharedService();

/** Takes slots for tasks such as `a1`, of the owner `a`, and ends them when the test says so. */
function tasksIn(semaphore: Semaphore) {
  const started: string[] = [];
  const releases = new Map<string, () => void>();
  const take = (task: string, reject?: (error: unknown) => void) =>
    semaphore.take(
      task[0]!,
      (release) => {
        started.push(task);
        releases.set(task, release);
      },
      reject,
    );
  return { started, take, end: (task: string) => releases.get(task)!() };
}

test('a limited number of tasks run at once, and those of one owner start in order', () => {
  const { started, take, end } = tasksIn(new Semaphore(2));
  for (const task of ['a1', 'a2', 'a3', 'a4']) take(task);
  expect(started).toEqual(['a1', 'a2']);
  end('a2');
  expect(started).toEqual(['a1', 'a2', 'a3']);
  end('a3');
  end('a1');
  end('a4');
  take('a5');
  expect(started).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
});

test('the owner with the fewest running tasks is next, however many others wait', () => {
  const { started, take, end } = tasksIn(new Semaphore(2));
  for (const task of ['a1', 'a2', 'a3', 'a4', 'b1']) take(task);
  end('a1');
  expect(started).toEqual(['a1', 'a2', 'b1']);
  end('a2');
  end('b1');
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
});

test('owners with equally many running tasks take turns', () => {
  const { started, take, end } = tasksIn(new Semaphore(1));
  for (const task of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) take(task);
  const order = ['a1', 'a2', 'b1', 'c1', 'a3', 'b2'];
  for (const task of order) end(task);
  expect(started).toEqual(order);
});

test('one owner cannot have all slots: the tasks of others pass its waiting ones', () => {
  const { started, take, end } = tasksIn(new Semaphore(3, 2));
  for (const task of ['a1', 'a2', 'a3', 'b1', 'b2']) take(task);
  expect(started).toEqual(['a1', 'a2', 'b1']);
  end('b1');
  expect(started).toEqual(['a1', 'a2', 'b1', 'b2']);
  end('a1');
  expect(started).toEqual(['a1', 'a2', 'b1', 'b2', 'a3']);
});

test('a task that stops waiting does not start, and takes no slot', () => {
  const { started, take, end } = tasksIn(new Semaphore(1));
  take('a1');
  const stopWaiting = take('a2');
  take('a3');
  stopWaiting();
  end('a1');
  end('a3');
  take('b1');
  expect(started).toEqual(['a1', 'a3', 'b1']);
});

test('tasks that have waited too long are rejected, of one owner or of all, and later ones are not', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const semaphore = new Semaphore(1);
  const { started, take, end } = tasksIn(semaphore);
  const rejected: string[] = [];
  const takeOrNote = (task: string) => take(task, (error) => rejected.push(`${task}: ${error}`));
  for (const task of ['a1', 'a2', 'b1']) takeOrNote(task);
  vi.advanceTimersByTime(2_000);
  takeOrNote('a3');
  semaphore.rejectWaiting('locked', 2_000, 'b');
  expect(rejected).toEqual(['b1: locked']);
  semaphore.rejectWaiting('unreachable', 2_000);
  expect(rejected).toEqual(['b1: locked', 'a2: unreachable']);
  end('a1');
  end('a3');
  takeOrNote('b2');
  expect(started).toEqual(['a1', 'a3', 'b2']);
  vi.useRealTimers();
});

test('a task gives its slot back even if it fails', async () => {
  const semaphore = new Semaphore(1);
  await expect(semaphore.run('a', () => Promise.reject(new Error('of a')))).rejects.toThrow('of a');
  expect(await semaphore.run('a', async () => 'ran')).toBe('ran');
});

test('a task that is aborted while it waits is not run, and takes no slot', async () => {
  const semaphore = new Semaphore(1);
  const leaving = new AbortController();
  let end: () => void = () => undefined;
  const running = semaphore.run('a', () => new Promise<void>((resolve) => (end = resolve)));
  const aborted = semaphore.runUnlessAborted('b', leaving.signal, async () => 'ran');
  leaving.abort();
  expect(await aborted).toBeUndefined();
  const late = await semaphore.runUnlessAborted('b', leaving.signal, async () => 'ran');
  expect(late).toBeUndefined();
  const last = semaphore.runUnlessAborted('c', new AbortController().signal, async () => 'ran');
  end();
  await running;
  expect(await last).toBe('ran');
});
