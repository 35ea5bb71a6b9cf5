import { expect, test, vi } from 'vitest';
import { Turns } from '../../src/signals/turns.js';

/** Work that goes on until the test ends it. */
function held(turns: Turns, order: string[], name: string) {
  let end: (error?: Error) => void = () => undefined;
  const outcome = turns.take(() => {
    order.push(name);
    return new Promise<string>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve(name));
    });
  });
  return { outcome, end: (error?: Error) => end(error) };
}

test('a limited number of tasks run at once, the others in order, even after a failure', async () => {
  const turns = new Turns(2);
  const order: string[] = [];
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => held(turns, order, name));
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
  const later = held(turns, order, 'e');
  expect(order.at(-1)).toBe('e');
  later.end();
});

test('tasks that have waited too long are rejected with the error, and later ones are not', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const turns = new Turns(1);
  const order: string[] = [];
  const running = held(turns, order, 'running');
  const early = held(turns, order, 'early');
  vi.advanceTimersByTime(2_000);
  const late = held(turns, order, 'late');
  turns.sendAway(new Error('the database is gone'), 2_000);
  await expect(early.outcome).rejects.toThrow('the database is gone');
  running.end();
  await vi.waitFor(() => expect(order).toEqual(['running', 'late']));
  late.end();
  expect(await late.outcome).toBe('late');
  vi.useRealTimers();
});
