import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs, durationText, parseDurationMs } from '../../src/values/time.js';

const units: [string, number][] = [
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
];

test.each(units)('a whole number and %s is that many times %d ms', (unit, ms) => {
  fc.assert(
    fc.property(fc.nat(999_999_999), (count) => {
      expect(parseDurationMs(`${count}${unit}`)).toBe(count * ms);
    }),
  );
});

test('a day has 24 hours', () => {
  expect(dayMs).toBe(parseDurationMs('24h'));
});

test.each([
  '',
  '5',
  's',
  '-1s',
  '+1s',
  '1.5s',
  '1,5s',
  '5 s',
  ' 5s',
  '5s ',
  '5s\n',
  '5S',
  '5sec',
  '5w',
  '1h30m',
  '1e3s',
  '0x5s',
  '٥s',
  '1234567890s',
])('%j is not a duration', (text) => {
  expect(parseDurationMs(text)).toBeUndefined();
});

test.each([
  ['1500ms', '1500 milliseconds'],
  ['1s', '1 second'],
  ['90s', '90 seconds'],
  ['5m', '5 minutes'],
  ['90m', '90 minutes'],
  ['24h', '1 day'],
  ['0s', '0 milliseconds'],
])('%s is %s in words', (text, words) => {
  expect(durationText(parseDurationMs(text) ?? Number.NaN)).toBe(words);
});
