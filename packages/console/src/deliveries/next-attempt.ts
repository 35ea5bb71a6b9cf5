import type { Delivery } from '@posthorn/client';

/** What the API says about the next attempt of a delivery. */
type Waiting = Pick<Delivery, 'status' | 'final' | 'attempts' | 'next_attempt_at'>;

/** Returns whether a delivery waits until its webhook is verified or resumed: only then has its next attempt no time. */
export function isHeld({ final, next_attempt_at: next }: Waiting): boolean {
  return !final && next === null;
}

const soonMs = 15_000;
const overdueMs = 120_000;

/**
 * Returns whether an attempt is about to be made or is under way, so that the delivery should be read again soon. If it
 * is long overdue, it is unknown when it will be made.
 */
export function isAboutToChange({ status, final, next_attempt_at: next }: Waiting, nowMs: number): boolean {
  if (final || next == null) return false;
  const leftMs = Date.parse(next) - nowMs;
  return leftMs > -overdueMs && (status === 'pending' || leftMs < soonMs);
}

/** Most attempts take less time than this. */
const madeMs = 2_000;

/**
 * Returns how soon to read again what shows these next attempts: when the next one has probably been made, or every
 * `madeMs` while the result of one that is due is not known. False if there is none that could change soon.
 */
export function rereadAfterMs(due: readonly (string | null | undefined)[], nowMs: number): number | false {
  const leftMs = due.flatMap((at) => (at ? Date.parse(at) - nowMs : [])).filter((ms) => ms > -overdueMs);
  return leftMs.length > 0 && Math.max(0, Math.min(...leftMs)) + madeMs;
}
