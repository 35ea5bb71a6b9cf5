import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Recorder } from '../../src/events/recorder.js';
import { noRoom } from '../../src/events/recording-store.js';
import type { Database } from '../../src/postgres/database.js';
import { batch, event } from '../support/client.js';
import { endSharedService } from '../support/service.js';

await endSharedService();

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** A recorder over a database that ends a transaction when the test says so. */
function recorder() {
  const transactions: {
    events: number;
    commit: (rows?: unknown[]) => void;
    fail: (error: Error) => void;
  }[] = [];
  const onLeaseInDoubt = vi.fn();
  const query = ({ values }: { values: unknown[] }) =>
    new Promise((resolve, reject) => {
      const events = String(values[0]).split(',').length;
      const head = { ordinal: 0, id: '01JAB3C4D5E6F7G8', created_at: new Date(), base: 2 ** 38 };
      transactions.push({ events, commit: (rows = [head]) => resolve({ rows }), fail: reject });
    });
  const database = { query, onLeaseInDoubt } as unknown as Database;
  const it = new Recorder({ database, room: () => noRoom, onRecorded: () => undefined });
  const record = (events: number) => it.record(batch(Array.from({ length: events }, () => event())));
  /** One event whose payload has so many characters. */
  const recordLarge = (characters: number) =>
    it.record({ ...batch([event()]), payloads: [' '.repeat(characters)] });
  return {
    recorder: it,
    record,
    recordLarge,
    transactions,
    onLeaseInDoubt,
    sizes: () => transactions.map(({ events }) => events),
  };
}

describe('a request to record', () => {
  test('is not delayed if it is the only one', () => {
    const { record, sizes } = recorder();
    void record(1);
    expect(sizes()).toEqual([1]);
  });

  test('shares the next transaction with all others that arrived during the last, and gets its own events', async () => {
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

  test('is recorded in a few more transactions, in order, if another one that shares its transaction is refused', async () => {
    const { record, transactions, sizes } = recorder();
    const first = record(1);
    const others = Promise.allSettled(Array.from({ length: 8 }, () => record(1)));
    transactions[0]!.commit();
    await first;
    const refused = Object.assign(new Error('out of range'), { code: '22003' });
    // The third of the eight is refused.
    const refusals = [true, true, false, true, true, false, false];
    for (const [index, isRefused] of refusals.entries()) {
      await vi.waitFor(() => expect(transactions).toHaveLength(index + 2));
      if (isRefused) transactions[index + 1]!.fail(refused);
      else transactions[index + 1]!.commit();
    }
    expect(sizes()).toEqual([1, 8, 4, 2, 2, 1, 1, 4]);
    const statuses = (await others).map(({ status }) => status);
    expect([statuses.indexOf('rejected'), statuses.lastIndexOf('rejected')]).toEqual([2, 2]);
  });

  test.each(['PH421', 'PH503'])(
    'is recorded in one more transaction if an organization whose requests share its transaction lives elsewhere: %s',
    async (code) => {
      const { recorder: it, record, transactions, sizes } = recorder();
      const first = record(1);
      const of = (...organizations: string[]) =>
        it.record(batch(organizations.map((organization_id) => event({ organization_id }))));
      const requests = [of('ORG-away'), of('ORG-a'), of('ORG-away'), of('ORG-b', 'ORG-away'), of('ORG-b')];
      const outcomes = Promise.allSettled(requests);
      transactions[0]!.commit();
      await first;
      await vi.waitFor(() => expect(transactions).toHaveLength(2));
      transactions[1]!.fail(Object.assign(new Error('lives elsewhere'), { code, hint: 'ORG-away' }));
      await vi.waitFor(() => expect(sizes()).toEqual([1, 6, 2]));
      transactions[2]!.commit();
      const statuses = (await outcomes).map(({ status }) => status);
      expect(statuses).toEqual(['rejected', 'fulfilled', 'rejected', 'rejected', 'fulfilled']);
    },
  );

  test.each(['55P03', '57014'])(
    'is refused together with the others if their transaction exceeds a time limit of the server: %s',
    async (code) => {
      const { record, transactions, sizes } = recorder();
      const first = record(1);
      const others = [record(2), record(3)];
      transactions[0]!.commit();
      await first;
      await vi.waitFor(() => expect(sizes()).toEqual([1, 5]));
      transactions[1]!.fail(Object.assign(new Error('timeout'), { code }));
      for (const one of others) await expect(one).rejects.toMatchObject({ code });
      expect(sizes()).toEqual([1, 5]);
    },
  );

  test('is neither recorded again nor leaves leased deliveries if a bug of ours follows the commit', async () => {
    const { record, transactions, onLeaseInDoubt, sizes } = recorder();
    const first = record(1);
    const others = [record(2), record(3)];
    transactions[0]!.commit();
    await first;
    await vi.waitFor(() => expect(sizes()).toEqual([1, 5]));
    transactions[1]!.commit([]);
    const outcomes = await Promise.allSettled(others);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(onLeaseInDoubt).toHaveBeenCalledTimes(1);
    expect(sizes()).toEqual([1, 5]);
  });

  test('does not wait for the running transaction if many wait', () => {
    const { record, sizes } = recorder();
    void record(1);
    void record(8);
    expect(sizes()).toEqual([1]);
    void record(1);
    expect(sizes()).toEqual([1, 9]);
    void record(249);
    expect(sizes()).toEqual([1, 9]);
    void record(1);
    expect(sizes()).toEqual([1, 9, 250]);
  });

  test('does not wait long behind a transaction that is held up', async () => {
    const { record, sizes } = recorder();
    void record(1);
    void record(2);
    await vi.advanceTimersByTimeAsync(24);
    expect(sizes()).toEqual([1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sizes()).toEqual([1, 2]);
  });

  test('is refused with 503 and Retry-After while the node is full, and accepted when there is room again', async () => {
    const { recorder: it, recordLarge, transactions } = recorder();
    // Held in memory twice: as part of its request's text, and parsed.
    const quarter = (32 * 1024 * 1024) / 4 / 2 - 10_000;
    const held = [recordLarge(quarter)];
    for (let count = 1; count < 4; count += 1) held.push(recordLarge(quarter));
    const refused = { code: 'unavailable', status: 503, headers: { 'Retry-After': '1' } };
    await expect(recordLarge(quarter)).rejects.toMatchObject(refused);
    await expect(recordLarge(50_000)).rejects.toMatchObject(refused);
    transactions[0]!.commit();
    await held[0];
    held.push(recordLarge(quarter));
    await expect(recordLarge(quarter)).rejects.toMatchObject(refused);
    for (const next of [1, 2]) {
      await vi.waitFor(() => expect(transactions.length).toBeGreaterThan(next));
      transactions[next]!.commit();
    }
    await Promise.all(held);
    expect(() => it.reserve(1)).not.toThrow();
  });

  test('counts from before its body is read, and only once', async () => {
    const { recorder: it, recordLarge } = recorder();
    const half = (32 * 1024 * 1024) / 2 / 2 - 10_000;
    const reservations = [it.reserve(half), it.reserve(half)];
    expect(() => it.reserve(half)).toThrow('Too many events are waiting');
    reservations[0]!.release();
    reservations[0]!.release();
    void recordLarge(half);
    expect(() => it.reserve(half)).toThrow('Too many events are waiting');
    reservations[1]!.release();
    expect(() => it.reserve(half)).not.toThrow();
  });

  test('is accepted even if it is larger than the limit of a node, if nothing else waits', () => {
    const { recordLarge, sizes } = recorder();
    void recordLarge(17 * 1024 * 1024);
    expect(sizes()).toEqual([1]);
  });

  test('does not wait behind the requests of another organization whose idempotency keys are held', () => {
    const { recorder: it, transactions } = recorder();
    const keyed = (organization_id: string, key: string) =>
      void it.record(batch([event({ organization_id, idempotency_key: key })]));
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) keyed('ORG-held', key);
    expect(transactions).toHaveLength(4);
    keyed('ORG-other', 'g');
    expect(transactions).toHaveLength(5);
  });

  test('does not wait long behind others whose idempotency keys are held, and is then refused with Retry-After', async () => {
    const { recorder: it, transactions } = recorder();
    const keyed = (key: string) => it.record(batch([event({ idempotency_key: key })]));
    const held = ['a', 'b', 'c', 'd'].map(keyed);
    await vi.advanceTimersByTimeAsync(100);
    const behind = keyed('e');
    expect(transactions).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(2_000);
    for (const { fail } of transactions) fail(Object.assign(new Error('lock timeout'), { code: '55P03' }));
    for (const one of held) await expect(one).rejects.toMatchObject({ code: '55P03' });
    await expect(behind).rejects.toMatchObject({ code: 'unavailable', headers: { 'Retry-After': '1' } });
  });

  test('is not refused because the idempotency keys of another organization are held', async () => {
    const { recorder: it, transactions } = recorder();
    const keyed = (organization_id: string, key: string) =>
      it.record(batch([event({ organization_id, idempotency_key: key })]));
    const held = ['a', 'b', 'c', 'd', 'e'].map((key) => keyed('ORG-held', key));
    const others = Promise.allSettled(['f', 'g', 'h'].map((key) => keyed('ORG-other', key)));
    expect(transactions).toHaveLength(6);
    await vi.advanceTimersByTimeAsync(2_000);
    transactions[0]!.fail(Object.assign(new Error('lock timeout'), { code: '55P03' }));
    await expect(held[0]).rejects.toMatchObject({ code: '55P03' });
    await expect(held[4]).rejects.toMatchObject({ code: 'unavailable' });
    await vi.waitFor(() => expect(transactions).toHaveLength(7));
    for (const { commit } of transactions.slice(4)) commit();
    expect((await others).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  });

  test('no longer counts after the database is lost', async () => {
    const { recorder: it, recordLarge, transactions } = recorder();
    const held = [recordLarge(15 * 1024 * 1024), recordLarge(1)];
    await expect(recordLarge(5 * 1024 * 1024)).rejects.toMatchObject({ code: 'unavailable' });
    await vi.advanceTimersByTimeAsync(2_500);
    for (const { fail } of transactions) fail(new Error('Connection terminated'));
    expect((await Promise.allSettled(held)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(() => it.reserve(16 * 1024 * 1024)).not.toThrow();
  });
});
