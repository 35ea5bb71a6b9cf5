import { isDelivered, type Outcome } from './outcome.js';

/** What happens after an attempt. */
export type Verdict =
  | { kind: 'delivered' }
  /** `waitMs` is undefined after an extra attempt: the delivery resumes its schedule, which has not changed. */
  | { kind: 'retry'; waitMs: number | undefined }
  | { kind: 'given_up' }
  | { kind: 'gone' };

const jitterMax = 0.2;
const retryAfterMsMax = 4 * 3_600_000;

/**
 * Decides what happens after an attempt. `scheduled` numbers the attempts of the schedule from 1, and `scheduleMs` has
 * the wait after each one except the last. An extra attempt, which was made because of a redelivery, has the number null
 * and leaves the schedule as it was. `random` in [0, 1) spreads the retries of many deliveries that failed together.
 */
export function judge(
  outcome: Outcome,
  scheduled: number | null,
  scheduleMs: readonly number[],
  random: number,
): Verdict {
  if (isDelivered(outcome)) return { kind: 'delivered' };
  if (outcome.kind === 'response' && outcome.httpStatus === 410) return { kind: 'gone' };
  // The receiver will not accept the same body later either.
  if (outcome.kind === 'response' && outcome.httpStatus === 413) return { kind: 'given_up' };
  if (scheduled === null) return { kind: 'retry', waitMs: undefined };
  const baseMs = scheduleMs[scheduled - 1];
  if (baseMs === undefined) return { kind: 'given_up' };
  const waitMs = baseMs + baseMs * jitterMax * random;
  const asked =
    outcome.kind === 'response' && asksToWait(outcome.httpStatus) ? (outcome.retryAfterMs ?? 0) : 0;
  const askedMax = Math.max(retryAfterMsMax, ...scheduleMs);
  return { kind: 'retry', waitMs: Math.round(Math.max(waitMs, Math.min(asked, askedMax))) };
}

const asksToWait = (httpStatus: number) => httpStatus === 429 || httpStatus === 503;

/**
 * Returns how many milliseconds a Retry-After header (seconds or an HTTP date) asks the sender to wait, or undefined if
 * there is no valid header. There is no upper limit here: `judge` limits the wait.
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  if (!/^[A-Za-z]{3,9},/.test(text)) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
