import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo } from '../../src/delivery/fifo.js';

test('behaves as a list from which the first is taken, whatever is done to it', () => {
  const step = fc.oneof(
    fc.record({ push: fc.integer({ min: 1, max: 1_500 }) }),
    fc.record({ shift: fc.integer({ min: 1, max: 1_500 }) }),
    fc.record({ keep: fc.nat(1_000) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const fifo = new Fifo<number>();
      const list: number[] = [];
      let next = 0;
      for (const one of steps) {
        if ('push' in one) {
          for (let n = 0; n < one.push; n += 1) {
            fifo.push(next);
            list.push(next++);
          }
        } else if ('shift' in one) {
          for (let n = 0; n < one.shift; n += 1) expect(fifo.shift()).toBe(list.shift());
        } else expect(fifo.takeBehind(one.keep)).toEqual(list.splice(one.keep));
        expect(fifo.length).toBe(list.length);
      }
    }),
    { numRuns: 50 },
  );
});

test('what was taken out is not kept in memory', async () => {
  const fifo = new Fifo<object>();
  const taken: WeakRef<object>[] = [];
  fifo.push({});
  for (let n = 0; n < 100; n += 1) {
    fifo.push({});
    taken.push(new WeakRef(fifo.shift()!));
  }
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  // What was just referred to weakly is kept until the next turn.
  await new Promise((next) => setImmediate(next));
  collect();
  expect(taken.filter((one) => one.deref() !== undefined).length).toBeLessThan(3);
});
