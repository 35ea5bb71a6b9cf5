import { isDelivered, type Outcome, type Verdict } from '../outcomes/outcome.js';
import { addDuration, addHistogram, type Histogram } from './latency.js';

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
