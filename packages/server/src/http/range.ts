import { parseInstantMs } from '../domain/instant.js';
import type { InputFault } from '../domain/problem.js';

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
    if (typeof query[parameter] === 'string' && query[parameter] !== '' && ms === undefined) {
      faults.push({
        parameter,
        code: 'unreadable_time',
        detail: 'must be a date (2026-11-15) or a time with Z or an offset (2026-11-15T09:30:00Z)',
      });
    }
  }
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs) {
    faults.push({ parameter: 'from', code: 'from_after_to', detail: "must not be later than 'to'" });
  }
  return faults;
}

function edge(text: unknown, which: 'start' | 'end'): number | undefined {
  return typeof text === 'string' ? parseInstantMs(text, which) : undefined;
}
