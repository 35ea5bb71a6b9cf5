import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseInstantMs } from '../../src/values/time.js';

const edges = ['start', 'end'] as const;
const [yearOneMs, year9999Ms] = [Date.parse('0001-01-02T00:00:00Z'), Date.parse('9999-12-30T00:00:00Z')];
const instant = fc.integer({ min: yearOneMs, max: year9999Ms });
const minuteMs = 60_000;

const expectBoth = (text: string, ms: number | undefined) => {
  for (const edge of edges) expect(parseInstantMs(text, edge), text).toBe(ms);
};

test('any time that Date prints is parsed as that time, as the start and as the end of a range', () => {
  fc.assert(fc.property(instant, (ms) => expectBoth(new Date(ms).toISOString(), ms)));
});

test('a time with an offset is the same moment as in UTC', () => {
  const offset = fc.integer({ min: -(24 * 60 - 1), max: 24 * 60 - 1 });
  fc.assert(
    fc.property(instant, offset, (ms, minutes) => {
      const clock = `${String(Math.floor(Math.abs(minutes) / 60)).padStart(2, '0')}:${String(Math.abs(minutes) % 60).padStart(2, '0')}`;
      const local = new Date(ms + minutes * minuteMs).toISOString().slice(0, -1);
      expectBoth(`${local}${minutes < 0 ? '-' : '+'}${clock}`, ms);
    }),
  );
});

test('a start within a millisecond excludes it, and an end within it includes it', () => {
  fc.assert(
    fc.property(instant, fc.stringMatching(/^\d{1,9}$/), (ms, fraction) => {
      const seconds = Math.floor(ms / 1_000) * 1_000;
      const text = `${new Date(seconds).toISOString().slice(0, 19)}.${fraction}Z`;
      const cut = seconds + Number(fraction.padEnd(3, '0').slice(0, 3));
      const isFiner = Number(fraction.slice(3) || '0') > 0;
      expect(parseInstantMs(text, 'start'), text).toBe(isFiner ? cut + 1 : cut);
      expect(parseInstantMs(text, 'end'), text).toBe(cut);
    }),
  );
});

test('lower case t and z are accepted, and a time needs no fraction', () => {
  expectBoth('2026-11-15t10:20:30z', Date.UTC(2026, 10, 15, 10, 20, 30));
});

test('a plain date starts with its first millisecond in UTC and ends with its last', () => {
  fc.assert(
    fc.property(instant, (ms) => {
      const date = new Date(ms).toISOString().slice(0, 10);
      expect(parseInstantMs(date, 'start')).toBe(Date.parse(`${date}T00:00:00.000Z`));
      expect(parseInstantMs(date, 'end')).toBe(Date.parse(`${date}T23:59:59.999Z`));
    }),
  );
});

test('a day is accepted exactly if the calendar has it', () => {
  const two = (n: number) => String(n).padStart(2, '0');
  fc.assert(
    fc.property(
      fc.integer({ min: 1900, max: 2100 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
      (year, month, day) => {
        const daysOfMonth = month >= 1 && month <= 12 ? new Date(Date.UTC(year, month, 0)).getUTCDate() : 0;
        const exists = day >= 1 && day <= daysOfMonth;
        const date = `${year}-${two(month)}-${two(day)}`;
        for (const text of [date, `${date}T12:00:00Z`, `${date}T23:30:00-05:00`]) {
          expect(parseInstantMs(text, 'start') !== undefined, text).toBe(exists);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test.each([
  '2026-11-15T10:20:30',
  '2026-11-15T10:20Z',
  '2026-11-15T24:00:00Z',
  '2026-11-15T10:60:00Z',
  '2026-11-15T10:20:60Z',
  '2026-11-15 10:20:30Z',
  '2026-11-15T10:20:30+0100',
  '2026-11-15T10:20:30+01',
  '2026-11-15T10:20:30+24:00',
  '2026-11-15T10:20:30.Z',
  '2026-11-15T10:20:30.1234567890Z',
  '2026-11-15Z',
  '2026-11-15\n',
  ' 2026-11-15',
  '2026-11-5',
  '26-11-15',
  '+012026-11-15',
  '20261115',
  '2026-W46-7',
  '1763200000',
  'now',
  '',
])('%j is not a time', (text) => {
  expectBoth(text, undefined);
});

test('no text makes it throw, and the result is an integer', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\dTZ:.+-]{0,30}$/)), (text) => {
      for (const edge of edges) expect(Number.isInteger(parseInstantMs(text, edge) ?? 0)).toBe(true);
    }),
  );
});
