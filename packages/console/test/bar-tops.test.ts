import { expect, test } from 'vitest';
import { topsOf } from '../src/charts/bars.js';

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
