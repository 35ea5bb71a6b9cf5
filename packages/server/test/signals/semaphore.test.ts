import { expect, test, vi } from 'vitest';
import { Semaphore } from '../../src/signals/semaphore.js';
import { endSharedService } from '../support/service.js';

await endSharedService();

/** A task that runs until the test ends it. */
function held(semaphore: Semaphore, order: string[], name: string) {
  let end: (error?: Error) => void = () => undefined;
  const outcome = semaphore.run(() => {
    order.push(name);
    return new Promise<string>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve(name));
    });
  });
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

test('tasks that have waited too long are rejected with the error, and later ones are not', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const semaphore = new Semaphore(1);
  const order: string[] = [];
  const running = held(semaphore, order, 'running');
  const early = held(semaphore, order, 'early');
  vi.advanceTimersByTime(2_000);
  const late = held(semaphore, order, 'late');
  semaphore.rejectWaiting(new Error('the database is gone'), 2_000);
  await expect(early.outcome).rejects.toThrow('the database is gone');
  running.end();
  await vi.waitFor(() => expect(order).toEqual(['running', 'late']));
  late.end();
  expect(await late.outcome).toBe('late');
  vi.useRealTimers();
});
