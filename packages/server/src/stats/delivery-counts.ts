import { isDelivered, type Outcome, type Verdict } from '../outcomes/outcome.js';

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
