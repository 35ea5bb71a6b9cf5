import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Queued, RecordingQueue } from '../../src/events/recording-queue.js';
import { endSharedService } from '../support/service.js';

await endSharedService();

const request = (organizationId: string, events: number, sinceMs = 0): Queued => ({
  organizationId,
  events,
  characters: events,
  sinceMs,
});

/** A queue to which an organization with many events and another one have just added. */
function shared() {
  const queue = new RecordingQueue<Queued>();
  for (let count = 0; count < 4; count += 1) queue.add(request('ORG-many', 60));
  queue.add(request('ORG-few', 1));
  return queue;
}

const names = (requests: readonly Queued[] = []) => requests.map(({ organizationId }) => organizationId);

test('an organization with few events does not share a transaction with one that has many', () => {
  const queue = shared();
  expect(names(queue.take(0)?.requests)).toEqual(['ORG-few']);
  expect(names(queue.take(0)?.requests)).toEqual(['ORG-many']);
});

test('while others record, an organization with many events has one short transaction at a time, and rests after it', () => {
  const queue = shared();
  queue.take(0);
  const group = queue.take(0)!;
  expect(queue.take(500)).toBeUndefined();
  expect(queue.ended(group, 10)).toBe(10);
  expect(queue.take(19)).toBeUndefined();
  expect(names(queue.take(20)?.requests)).toEqual(['ORG-many']);
});

test('while no other records, an organization with many events has whole transactions, and does not rest', () => {
  const queue = shared();
  queue.take(0);
  const group = queue.take(1_000)!;
  expect(names(group.requests)).toEqual(['ORG-many', 'ORG-many', 'ORG-many', 'ORG-many']);
  expect(queue.ended(group, 1_010)).toBe(0);
});

test('organizations with many events share transactions, and none of them rests', () => {
  const queue = new RecordingQueue<Queued>();
  for (const name of ['ORG-a', 'ORG-a', 'ORG-b', 'ORG-c']) queue.add(request(name, 80));
  const group = queue.take(0)!;
  expect(names(group.requests)).toEqual(['ORG-a', 'ORG-b', 'ORG-c']);
  expect(queue.ended(group, 10)).toBe(0);
});

test('every request is taken once, in the order of its organization, and few events never wait for many', () => {
  const step = fc.oneof(
    fc.record({ organization: fc.constantFrom('A', 'B', 'C'), events: fc.integer({ min: 1, max: 400 }) }),
    fc.constant('end' as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new RecordingQueue<Queued>();
      const running: NonNullable<ReturnType<typeof queue.take>>[] = [];
      const [added, taken]: [Queued[], Queued[]] = [[], []];
      let nowMs = 0;
      const takeAll = () => {
        for (let group = queue.take(nowMs); group; group = queue.take(nowMs)) {
          expect(running.filter(({ kind }) => kind === group?.kind).length).toBeLessThan(2);
          running.push(group);
          taken.push(...group.requests);
        }
      };
      const end = () => {
        const group = running.shift();
        if (group) queue.ended(group, nowMs);
      };
      for (const one of steps) {
        nowMs += 5;
        if (one === 'end') end();
        else {
          added.push(request(one.organization, one.events, nowMs));
          queue.add(added.at(-1)!);
        }
        takeAll();
        if (!running.some(({ kind }) => kind === 'few'))
          for (const name of ['A', 'B', 'C']) {
            const events = (of: readonly Queued[]) =>
              of.reduce((sum, each) => sum + (each.organizationId === name ? each.events : 0), 0);
            const waiting = events(added) - events(taken);
            const inTransactions = events(running.flatMap(({ requests }) => requests));
            expect(waiting === 0 || waiting + inTransactions >= 10).toBe(true);
          }
      }
      while (!queue.isEmpty) {
        nowMs += 1_000;
        end();
        takeAll();
      }
      for (const name of ['A', 'B', 'C']) {
        const of = (all: readonly Queued[]) => all.filter(({ organizationId }) => organizationId === name);
        expect(of(taken)).toEqual(of(added));
      }
    }),
  );
});
