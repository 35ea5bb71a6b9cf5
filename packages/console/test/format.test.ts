import { expect, test } from 'vitest';
import { formatClock, formatRange, formatRelative } from '../src/text/format';

const at = (iso: string) => Date.parse(iso);
const now = at('2026-11-17T13:00:00Z');

test.each([
  ['2026-11-17T10:00:00Z', '2026-11-17T10:00:59Z', '10:00:00 – 10:00:59'],
  ['2026-11-16T13:16:00Z', '2026-11-17T12:59:59Z', '16 Nov 13:16 – 17 Nov 12:59'],
  ['2026-11-15T13:16:00Z', '2026-11-16T13:16:00Z', '15 Nov 13:16 – 16 Nov 13:16'],
  ['2025-11-17T10:00:00Z', '2025-11-17T10:00:59Z', '17 Nov 2025 10:00 – 17 Nov 2025 10:00'],
  ['2025-12-31T23:00:00Z', '2026-01-01T01:00:00Z', '31 Dec 2025 23:00 – 1 Jan 01:00'],
])('a range from %s to %s shows the day of both ends, unless both are today', (from, to, text) => {
  expect(formatRange(at(from), at(to), 'utc', now)).toBe(text);
});

test.each([
  ['2026-11-17T10:00:00Z', '10:00:00'],
  ['2026-11-16T10:00:00Z', '16 Nov 10:00'],
  ['2025-11-17T10:00:00Z', '17 Nov 2025 10:00'],
])('the time %s shows its day unless it is today, and its year unless it is this year', (iso, text) => {
  expect(formatClock(at(iso), 'utc', now)).toBe(text);
});

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

test.each([
  [-1_000, 'just now'],
  [1_000, 'now'],
  [59_400, 'in 59 s'],
  [59_600, 'in 1 min'],
  [hour - 5_000, 'in 1 h'],
  [59 * minute, 'in 59 min'],
  [day - 10 * minute, 'in 1 d'],
  [365 * day - 5_000, 'in 365 d'],
  [-89_000, '1 min ago'],
  [-91_000, '2 min ago'],
])('a time %i ms from now is %s: the nearest value of one unit', (ms, text) => {
  expect(formatRelative(now + ms, now)).toBe(text);
});
