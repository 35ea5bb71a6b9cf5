import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Pace, Pacer, parseRate } from '../src/pace.js';

describe('a pace', () => {
  test('is right on average, however irregularly it is called', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 200 }),
        fc.double({ min: 0.1, max: 500, noNaN: true }),
        (gapsMs, perSecond) => {
          const pace = new Pace(perSecond, 0);
          let [nowMs, taken] = [0, 0];
          for (const gapMs of gapsMs) {
            nowMs += gapMs;
            taken += pace.take(nowMs, Number.POSITIVE_INFINITY);
          }
          const due = 1 + (nowMs * perSecond) / 1000;
          expect(taken).toBeGreaterThan(due - 1 - 1e-6);
          expect(taken).toBeLessThanOrEqual(due + 1e-6);
        },
      ),
    );
  });

  test('starts no more than there is room for, and makes up for at most one second', () => {
    const pace = new Pace(20, 0);
    expect(pace.take(0, 64)).toBe(1);
    expect(pace.take(1_000, 5)).toBe(5);
    expect(pace.take(60_000, 0)).toBe(0);
    expect(pace.take(60_000, 64)).toBe(21);
    expect(pace.take(60_000, 64)).toBe(0);
  });

  test('can change while it runs', () => {
    const pace = new Pace(10, 0);
    expect(pace.take(100, 64)).toBe(2);
    pace.perSecond = 100;
    expect(pace.take(200, 64)).toBe(10);
  });

  test.each([
    ['20/s', 20],
    ['600/m', 10],
    ['0.1/s', 0.1],
    ['500/s', 500],
    ['12.5/s', 12.5],
    ['0.05/s', undefined],
    ['501/s', undefined],
    ['20', undefined],
    ['20/h', undefined],
    ['-1/s', undefined],
    ['1e2/s', undefined],
  ])('%s is parsed as %s per second', (text, perSecond) => {
    expect(parseRate(text)).toBe(perSecond);
  });
});

describe('a pacer', () => {
  test('limits the tasks in progress, and stops when they have ended', async () => {
    let [underWay, most, done] = [0, 0, 0];
    const pacer = new Pacer({
      perSecond: 500,
      inFlightMax: 3,
      work: async () => {
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise((resolve) => setTimeout(resolve, 5));
        underWay -= 1;
        done += 1;
        if (done === 30) reached();
      },
    });
    let reached = () => {};
    await new Promise<void>((resolve) => {
      reached = resolve;
    });
    await pacer.stop();
    expect({ underWay, most }).toEqual({ underWay: 0, most: 3 });
    const settled = done;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(done).toBe(settled);
  });
});
