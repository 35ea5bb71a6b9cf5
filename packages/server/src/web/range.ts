import { parseInstantMs } from '../values/instant.js';
import type { InputFault } from '../values/problem.js';

export interface TimeRange {
  fromMs: number | undefined;
  toMs: number | undefined;
}

interface RangeQuery {
  from?: unknown;
  to?: unknown;
}

/** Returns the time range of a query that `rangeFaults` accepted. */
export function rangeOf(query: RangeQuery): TimeRange {
  return { fromMs: edge(query.from, 'start'), toMs: edge(query.to, 'end') };
}

export function rangeFaults(query: RangeQuery): readonly InputFault[] {
  const { fromMs, toMs } = rangeOf(query);
  const faults: InputFault[] = [];
  for (const [parameter, ms] of [
    ['from', fromMs],
    ['to', toMs],
  ] as const) {
    const text = query[parameter];
    if (typeof text === 'string' && text !== '' && ms === undefined)
      faults.push({ parameter, code: 'unreadable_time', detail: unreadable(text) });
  }
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs) {
    faults.push({ parameter: 'from', code: 'from_after_to', detail: "must not be later than 'to'" });
  }
  return faults;
}

/**
 * Returns what is wrong with a time that cannot be read. In a query string, a `+` stands for a space, so an offset such
 * as `+01:00` arrives without its sign.
 */
function unreadable(text: string): string {
  const detail = 'must be a date (2026-11-15) or a time with Z or an offset (2026-11-15T09:30:00Z)';
  const isWithoutSign = text.includes(' ') && parseInstantMs(text.replace(' ', '+'), 'start') !== undefined;
  return isWithoutSign ? `${detail}; in a URL, write the + of the offset as %2B` : detail;
}

function edge(text: unknown, which: 'start' | 'end'): number | undefined {
  return typeof text === 'string' ? parseInstantMs(text, which) : undefined;
}
