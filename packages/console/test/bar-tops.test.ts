import { expect, test } from 'vitest';
import { topsOf } from '../src/charts/bars.js';
import { placesOf } from '../src/charts/wait-axis.js';

test('a part of a bar is high enough to be seen, however small it is, and zero has no height', () => {
  const series = [{ values: [1_000, 0, 3] }, { values: [1, 2, 0] }];
  expect(topsOf(series)).toEqual([
    [1_000, 0, 3],
    [1_001, 2, 3],
  ]);
  expect(topsOf(series, 14)).toEqual([
    [1_000, 0, 14],
    [1_014, 14, 14],
  ]);
});

test('on the axis of an event, a webhook that got it later is further on, in whatever order they are listed', () => {
  const [slow, fast, late] = placesOf([461, 72, 7_200_000]);
  expect(fast).toBeLessThan(slow!);
  expect(slow).toBeLessThan(late!);
  expect(late).toBe(1);
});
