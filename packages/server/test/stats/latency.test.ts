import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDuration, addHistogram, type Histogram, percentile } from '../../src/stats/stats.js';

const durations = fc.array(fc.integer({ min: 0, max: 600_000 }), { minLength: 1, maxLength: 200 });

function histogramOf(values: readonly number[]): Histogram {
  const histogram: Histogram = [];
  for (const value of values) addDuration(histogram, value);
  return histogram;
}

describe('a histogram of durations', () => {
  test('gives percentiles within 10% and half a millisecond', () => {
    fc.assert(
      fc.property(durations, fc.constantFrom(0.5, 0.95, 1), (values, share) => {
        const sorted = [...values].sort((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil(values.length * share)) - 1]!;
        const read = percentile(histogramOf(values), share)!;
        expect(Math.abs(read - exact)).toBeLessThanOrEqual(exact * 0.1 + 0.5);
      }),
    );
  });

  test('is exact up to 3 ms', () => {
    for (const value of [0, 1, 2, 3]) expect(percentile(histogramOf([value]), 0.5)).toBe(value);
  });

  test('added to another is the histogram of all their durations', () => {
    fc.assert(
      fc.property(durations, durations, (some, others) => {
        const sum = histogramOf(some);
        addHistogram(sum, histogramOf(others));
        expect(sum).toEqual(histogramOf([...some, ...others]));
      }),
    );
  });

  test('has no percentile if it is empty, and takes any duration', () => {
    expect(percentile([], 0.5)).toBeNull();
    expect(percentile([0, 0], 0.5)).toBeNull();
    for (const odd of [-1, Number.NaN, 1e12]) expect(histogramOf([odd]).length).toBeLessThan(120);
  });
});
