import { isDelivered, type Outcome } from '../outcomes/outcome.js';
import type { Verdict } from '../outcomes/retry-schedule.js';
import { dayMs } from '../values/time.js';

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
  const { latencies, ...totals } = counts;
  return { events, ...totals, p50_ms: percentile(latencies, 0.5), p95_ms: percentile(latencies, 0.95) };
}

/** The results of the attempts in a period. */
export interface DeliveryCounts {
  delivered: number;
  /** Failed attempts, including the last attempt of a delivery that the service gave up on. */
  failed_attempts: number;
  /** Deliveries that ended without success. */
  given_up: number;
  /** Durations of successful attempts. */
  latencies: Histogram;
}

export function noCounts(): DeliveryCounts {
  return { delivered: 0, failed_attempts: 0, given_up: 0, latencies: [] };
}

/** Adds one attempt to the counts. */
export function countAttempt(counts: DeliveryCounts, outcome: Outcome, verdict: Verdict): void {
  if (isDelivered(outcome)) {
    counts.delivered += 1;
    addDuration(counts.latencies, outcome.durationMs);
    return;
  }
  counts.failed_attempts += 1;
  if (verdict.kind !== 'retry') counts.given_up += 1;
}

/** Adds `other` to the counts. */
export function addCounts(counts: DeliveryCounts, other: DeliveryCounts): void {
  counts.delivered += other.delivered;
  counts.failed_attempts += other.failed_attempts;
  counts.given_up += other.given_up;
  addHistogram(counts.latencies, other.latencies);
}

/**
 * A histogram of durations in milliseconds: the number of durations in each bucket. The bounds double every
 * four buckets (one octave). Percentiles are whole milliseconds: exact up to 3 ms, and otherwise within 10%
 * plus 0.5 ms of the exact value. Trailing zeros are left out.
 */
export type Histogram = number[];

const perOctave = 4;
const durationMsMax = 86_400_000;

/** Returns the bucket of a duration: 0 for less than a millisecond, then in steps of a quarter of an octave. */
function bucketOf(durationMs: number): number {
  if (!(durationMs >= 1)) return 0;
  return 1 + Math.floor(Math.log2(Math.min(durationMs, durationMsMax)) * perOctave + 1e-9);
}

/** Returns the middle of the whole milliseconds that fall into a bucket. */
function middleOf(bucket: number): number {
  if (bucket === 0) return 0;
  const first = Math.ceil(2 ** ((bucket - 1) / perOctave) - 1e-9);
  const last = Math.ceil(2 ** (bucket / perOctave) - 1e-9) - 1;
  return Math.round((first + Math.max(first, last)) / 2);
}

/** Adds one duration to the histogram. */
export function addDuration(histogram: Histogram, durationMs: number): void {
  const bucket = bucketOf(durationMs);
  while (histogram.length <= bucket) histogram.push(0);
  histogram[bucket]! += 1;
}

/** Adds `other` to the histogram. */
export function addHistogram(histogram: Histogram, other: Histogram): void {
  while (histogram.length < other.length) histogram.push(0);
  for (const [bucket, count] of other.entries()) histogram[bucket]! += count;
}

/** Returns the duration that the given fraction of all durations does not exceed, or null if there are none. */
export function percentile(histogram: Histogram, fraction: number): number | null {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const wanted = Math.max(1, Math.ceil(total * fraction));
  let seen = 0;
  for (const [bucket, count] of histogram.entries()) {
    seen += count;
    if (seen >= wanted) return middleOf(bucket);
  }
  return null;
}
