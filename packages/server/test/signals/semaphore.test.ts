import { expect, test, vi } from 'vitest';
import { Semaphore } from '../../src/signals/semaphore.js';
import { endSharedService } from '../support/service.js';

await endSharedService();

/** A task that runs until the test ends it. */
function held(semaphore: Semaphore, order: string[], name: string, owner?: string) {
  let end: (error?: Error) => void = () => undefined;
  const outcome = semaphore.run(() => {
    order.push(name);
    return new Promise<string>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve(name));
    });
  }, owner);
  return { outcome, end: (error?: Error) => end(error) };
}

test('a limited number of tasks run at once, the others in order, even after a failure', async () => {
  const semaphore = new Semaphore(2);
  const order: string[] = [];
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => held(semaphore, order, name));
  expect(order).toEqual(['a', 'b']);
  b!.end(new Error('of b'));
  await expect(b!.outcome).rejects.toThrow('of b');
  await vi.waitFor(() => expect(order).toEqual(['a', 'b', 'c']));
  c!.end();
  a!.end();
  expect(await Promise.all([a!.outcome, c!.outcome])).toEqual(['a', 'c']);
  await vi.waitFor(() => expect(order).toEqual(['a', 'b', 'c', 'd']));
  d!.end();
  await d!.outcome;
  const later = held(semaphore, order, 'e');
  expect(order.at(-1)).toBe('e');
  later.end();
});

test('one owner cannot have all slots: the tasks of others pass its waiting ones', async () => {
  const semaphore = new Semaphore(3, 2);
  const order: string[] = [];
  const [a, b, c] = ['a', 'b', 'c'].map((name) => held(semaphore, order, name, 'first'));
  const [d, e] = ['d', 'e'].map((name) => held(semaphore, order, name, 'second'));
  expect(order).toEqual(['a', 'b', 'd']);
  d!.end();
  await vi.waitFor(() => expect(order).toEqual(['a', 'b', 'd', 'e']));
  a!.end();
  await vi.waitFor(() => expect(order).toEqual(['a', 'b', 'd', 'e', 'c']));
  for (const each of [b, c, e]) each!.end();
  await Promise.all([b, c, e].map((each) => each!.outcome));
});

test('tasks that have waited too long are rejected with the error, and later ones are not', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const semaphore = new Semaphore(1);
  const order: string[] = [];
  const running = held(semaphore, order, 'running');
  const early = held(semaphore, order, 'early');
  vi.advanceTimersByTime(2_000);
  const late = held(semaphore, order, 'late');
  semaphore.rejectWaiting(new Error('of another owner'), 2_000, 'another');
  semaphore.rejectWaiting(new Error('the database is gone'), 2_000);
  await expect(early.outcome).rejects.toThrow('the database is gone');
  running.end();
  await vi.waitFor(() => expect(order).toEqual(['running', 'late']));
  late.end();
  expect(await late.outcome).toBe('late');
  vi.useRealTimers();
});
