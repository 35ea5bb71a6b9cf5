import { dayMs } from '../values/duration.js';
import { addCounts, type DeliveryCounts, noCounts, percentile } from './delivery-counts.js';

export const intervals = ['minute', 'hour', 'day'] as const;
export type Interval = (typeof intervals)[number];

const hourMs = 3_600_000;
const intervalMs: Record<Interval, number> = { minute: 60_000, hour: hourMs, day: dayMs };

/** The longest range that a request can ask for, and the longest with the interval `minute`. */
export const statsMsMax = 90 * dayMs;
export const minutesMsMax = 6 * hourMs;
const hoursMsDefault = 7 * dayMs;

/** Returns the default interval for a range. */
export function defaultInterval(rangeMs: number): Interval {
  if (rangeMs <= minutesMsMax) return 'minute';
  return rangeMs <= hoursMsDefault ? 'hour' : 'day';
}

/** Returns the start of the bucket that contains a time, in UTC. */
function startOf(interval: Interval, ms: number): number {
  return ms - (ms % intervalMs[interval]);
}

/** The whole buckets that a range touches. */
export interface Span {
  fromMs: number;
  /** Exclusive. */
  toMs: number;
}

export function spanOf(interval: Interval, fromMs: number, toMs: number): Span {
  return { fromMs: startOf(interval, fromMs), toMs: startOf(interval, toMs) + intervalMs[interval] };
}

/**
 * The figures for a period. `events` is null if the token may not read events, or if the figures are for one webhook.
 */
export interface Figures {
  events: number | null;
  delivered: number;
  failed_attempts: number;
  given_up: number;
  p50_ms: number | null;
  p95_ms: number | null;
}

/** Returns the figures for each bucket in a span, including empty ones, and the totals. */
export function figuresOf(
  interval: Interval,
  span: Span,
  deliveries: readonly (DeliveryCounts & { atMs: number })[],
  events: ReadonlyMap<number, number> | undefined,
): { buckets: ({ at: string } & Figures)[]; totals: Figures } {
  const counts = new Map<number, DeliveryCounts>();
  const all = noCounts();
  for (const { atMs, ...counted } of deliveries) {
    const start = startOf(interval, atMs);
    const sum = counts.get(start) ?? noCounts();
    counts.set(start, sum);
    addCounts(sum, counted);
    addCounts(all, counted);
  }
  const buckets: ({ at: string } & Figures)[] = [];
  let allEvents = 0;
  for (let atMs = span.fromMs; atMs < span.toMs; atMs += intervalMs[interval]) {
    const count = events?.get(atMs) ?? 0;
    allEvents += count;
    buckets.push({
      at: new Date(atMs).toISOString(),
      ...figures(events ? count : null, counts.get(atMs) ?? noCounts()),
    });
  }
  return { buckets, totals: figures(events ? allEvents : null, all) };
}

function figures(events: number | null, counts: DeliveryCounts): Figures {
  const { delivered, failed_attempts, given_up, latencies } = counts;
  return {
    events,
    delivered,
    failed_attempts,
    given_up,
    p50_ms: percentile(latencies, 0.5),
    p95_ms: percentile(latencies, 0.95),
  };
}
