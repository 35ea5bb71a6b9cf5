import type { Zone } from '../browser/preferences';
import { language, numbers, t } from './language';

export function formatCount(value: number): string {
  return numbers.format(value);
}

/** How many rows a page has: `12`, or `100+` if there are more. */
export const formatPage = ({ data, hasMore }: { data: unknown[]; hasMore: boolean }) =>
  `${formatCount(data.length)}${hasMore ? '+' : ''}`;

const tenths = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** `84 ms`, `2.4 s`, `10 s`, `3 min` */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${tenths.format(ms / 1_000)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

const percents = [0, 1].map(
  (digits) =>
    new Intl.NumberFormat(language, {
      style: 'percent',
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    }),
);

/** Shows 100% only if the part is the whole, and 0% only if the part is zero. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–';
  const share = part / whole;
  return share === 1 || share === 0
    ? percents[0]!.format(share)
    : percents[1]!.format(Math.min(0.999, Math.max(0.001, share)));
}

/** The two largest units of a duration: `41 min 12 s`, `2 h 14 min`, `3 d`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  const units: [string, number][] = [
    ['d', Math.floor(seconds / 86_400)],
    ['h', Math.floor(seconds / 3_600) % 24],
    ['min', Math.floor(seconds / 60) % 60],
    ['s', seconds % 60],
  ];
  const first = units.findIndex(([, value]) => value > 0);
  if (first < 0) return '0 s';
  return units
    .slice(first, first + 2)
    .filter(([, value]) => value > 0)
    .map(([unit, value]) => `${value} ${unit}`)
    .join(' ');
}

/** `12 s ago`, `in 58 min`: only one unit, so that a column of times is easy to read. */
export function formatRelative(atMs: number, nowMs: number): string {
  const distance = Math.abs(atMs - nowMs);
  if (distance < 2_000) return atMs > nowMs ? t`now` : t`just now`;
  const text = oneUnit(distance);
  return atMs > nowMs ? t`in ${text}` : t`${text} ago`;
}

function oneUnit(ms: number): string {
  // A unit is used only if the rounded value is less than one of the next.
  if (ms < 59_500) return `${Math.round(ms / 1_000)} s`;
  if (ms < 59.5 * 60_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 23.5 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

const zoneOption = (zone: Zone) => (zone === 'utc' ? { timeZone: 'UTC' } : {});
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  const known = formats.get(key);
  if (known) return known;
  const made = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    ...options,
    ...zoneOption(zone),
  });
  formats.set(key, made);
  return made;
}

const clockParts = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const dayParts = { day: 'numeric', month: 'short' } as const;
const dateParts = { ...dayParts, year: 'numeric' } as const;

/** `15 Nov 2026, 20:41:07.123 UTC` */
export function formatExact(atMs: number, zone: Zone): string {
  const text = formatOf(zone, {
    ...dateParts,
    ...clockParts,
    fractionalSecondDigits: 3,
    timeZoneName: 'short',
  });
  return text.format(atMs);
}

/** `15 Nov 2026, 20:41:07 UTC` */
export function formatSecond(atMs: number, zone: Zone): string {
  return formatOf(zone, { ...dateParts, ...clockParts, timeZoneName: 'short' }).format(atMs);
}

/** `20:41:07` today, `14 Nov 20:41` on another day, `14 Nov 2025 20:41` in another year. */
export function formatClock(atMs: number, zone: Zone, nowMs: number): string {
  if (isSameDay(atMs, nowMs, zone)) return formatOf(zone, clockParts).format(atMs);
  return formatDayAndMinute(atMs, zone, nowMs);
}

/** `20:41:07 – 20:45:00` today, `14 Nov 20:41 – 15 Nov 20:41` otherwise. */
export function formatRange(fromMs: number, toMs: number, zone: Zone, nowMs: number): string {
  // With the day of only one of the two, 24 hours would look like a few seconds.
  const isToday = isSameDay(fromMs, nowMs, zone) && isSameDay(toMs, nowMs, zone);
  const text = isToday ? formatClock : formatDayAndMinute;
  return `${text(fromMs, zone, nowMs)} – ${text(toMs, zone, nowMs)}`;
}

function formatDayAndMinute(atMs: number, zone: Zone, nowMs: number): string {
  const year = formatOf(zone, { year: 'numeric' });
  const isThisYear = year.format(atMs) === year.format(nowMs);
  const day = isThisYear ? formatDay(atMs, zone) : formatOf(zone, dateParts).format(atMs);
  return `${day} ${formatMinute(atMs, zone)}`;
}

function isSameDay(oneMs: number, otherMs: number, zone: Zone): boolean {
  const date = formatOf(zone, dateParts);
  return date.format(oneMs) === date.format(otherMs);
}

/** `Saturday, 14 November` */
export function formatDate(atMs: number, zone: Zone): string {
  return formatOf(zone, { weekday: 'long', day: 'numeric', month: 'long' }).format(atMs);
}

/** `14 Nov` */
export function formatDay(atMs: number, zone: Zone): string {
  return formatOf(zone, dayParts).format(atMs);
}

/** `20:41` */
export function formatMinute(atMs: number, zone: Zone): string {
  return formatOf(zone, { hour: '2-digit', minute: '2-digit' }).format(atMs);
}
