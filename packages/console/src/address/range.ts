import type { Stats } from '@posthorn/client';
import { t } from '../text/language';
import type { SearchOf } from './search';

export type Interval = Stats['interval'];

/** A time range in a URL: a length that ends now, or two times. */
export type RangeSearch = SearchOf<'range' | 'from' | 'to'>;

/** Removes the range from a URL. `failed_from` says since when a list shows what failed. */
export const noRange = { range: undefined, from: undefined, to: undefined, failed_from: undefined };

const hourMs = 3_600_000;

export const rangeChoices = [
  { key: '1h', label: '1 h', ms: hourMs },
  { key: '6h', label: '6 h', ms: 6 * hourMs },
  { key: '24h', label: '24 h', ms: 24 * hourMs },
  { key: '7d', label: '7 d', ms: 7 * 24 * hourMs },
  { key: '30d', label: '30 d', ms: 30 * 24 * hourMs },
] as const;

/** `in the last 24 h`: the period of figures whose range is in the URL. Without one, it is a day. */
export function periodOf({ from, range = '24h' }: RangeSearch): string {
  if (from) return t`in this range`;
  if (range === '1h') return t`in the last hour`;
  const label = rangeChoices.find(({ key }) => key === range)?.label ?? range;
  return t`in the last ${label.replace(' ', '\u00a0')}`;
}

/** Reads the range from the URL. Without one, it is 24 h. A range that ends now has no `toMs`. */
export function rangeOf(search: RangeSearch, nowMs: number) {
  const fromMs = search.from ? Date.parse(search.from) : Number.NaN;
  if (!Number.isNaN(fromMs)) {
    const toMs = search.to ? Date.parse(search.to) : Number.NaN;
    const end = Number.isNaN(toMs) ? undefined : toMs;
    return { fromMs, toMs: end, interval: intervalFor((end ?? nowMs) - fromMs) };
  }
  const known = rangeChoices.find(({ key }) => key === search.range);
  const ms = known?.ms ?? 24 * hourMs;
  return { fromMs: nowMs - ms, toMs: undefined, interval: intervalFor(ms) };
}

/**
 * Returns the finest interval that the API offers for a range of this length and that leaves bars wide enough to see.
 */
export function intervalFor(ms: number): Interval {
  if (ms <= 6 * hourMs) return 'minute';
  return ms <= 7 * 24 * hourMs ? 'hour' : 'day';
}

export const intervalMs: Record<Interval, number> = { minute: 60_000, hour: hourMs, day: 24 * hourMs };
