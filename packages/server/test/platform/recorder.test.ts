import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Recorder } from '../../src/platform/recorder.js';
import type { Database } from '../../src/storage/database.js';
import { batch, event } from '../support/client.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** A recorder over a database that answers a transaction when it is told to. */
function recorder() {
  const transactions: { events: number; commit: (rows?: unknown[]) => void }[] = [];
  const onLeaseInDoubt = vi.fn();
  const query = ({ values }: { values: unknown[] }) =>
    new Promise((resolve) => {
      const events = String(values[0]).split(',').length;
      const head = { ordinal: 0, id: '01JAB3C4D5E6F7G8', created_at: new Date(), zero: 2 ** 38 };
      transactions.push({ events, commit: (rows = [head]) => resolve({ rows }) });
    });
  const it = new Recorder(
    { query, onLeaseInDoubt } as unknown as Database,
    () => ({ node: null, saturated: [] }),
    () => undefined,
  );
  const record = (events: number) => it.record(batch(Array.from({ length: events }, () => event())));
  return { record, transactions, onLeaseInDoubt, sizes: () => transactions.map(({ events }) => events) };
}

describe('a request to record', () => {
  test('that comes alone is not delayed', () => {
    const { record, sizes } = recorder();
    void record(1);
    expect(sizes()).toEqual([1]);
  });

  test('goes into the next transaction with all others that came during the last, and gets its own events', async () => {
    const { record, transactions, sizes } = recorder();
    const first = record(1);
    const others = [record(2), record(3)];
    expect(sizes()).toEqual([1]);
    transactions[0]!.commit();
    await first;
    await vi.waitFor(() => expect(sizes()).toEqual([1, 5]));
    transactions[1]!.commit();
    const [two, three] = await Promise.all(others);
    expect([...two!, ...three!].map(({ id }) => id.at(-1))).toEqual(['1', '2', '3', '4', '5']);
  });

  test('is not recorded again, nor its deliveries kept, where it is our fault that the answer is not understood', async () => {
    const { record, transactions, onLeaseInDoubt, sizes } = recorder();
    const first = record(1);
    const others = [record(2), record(3)];
    transactions[0]!.commit();
    await first;
    await vi.waitFor(() => expect(sizes()).toEqual([1, 5]));
    transactions[1]!.commit([]);
    const answers = await Promise.allSettled(others);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(onLeaseInDoubt).toHaveBeenCalledTimes(1);
    expect(sizes()).toEqual([1, 5]);
  });

  test('does not wait for the last transaction once there are many', () => {
    const { record, sizes } = recorder();
    void record(1);
    void record(249);
    expect(sizes()).toEqual([1]);
    void record(1);
    expect(sizes()).toEqual([1, 250]);
  });

  test('does not wait for long behind a transaction that something holds up', async () => {
    const { record, sizes } = recorder();
    void record(1);
    void record(2);
    await vi.advanceTimersByTimeAsync(24);
    expect(sizes()).toEqual([1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sizes()).toEqual([1, 2]);
  });
});
