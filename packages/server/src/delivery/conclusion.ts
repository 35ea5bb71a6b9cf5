import type { Outcome, Verdict } from '../domain/delivery.js';
import { deliveryFailed } from '../domain/own-event.js';
import type { LeasedDelivery } from '../storage/leased-delivery.js';
import type { Settlement } from '../storage/settlements.js';
import type { Target } from './attempt.js';
import type { Entry } from './settler.js';

/** What is written of a delivery after an attempt, and with it. */
export function conclude(
  delivery: LeasedDelivery,
  target: Target,
  outcome: Outcome,
  verdict: Verdict,
  attemptedAt: Date,
): Omit<Entry, 'node'> {
  const answered = outcome.kind === 'answered';
  // Written out field by field: it is made for every attempt, and spreading showed in the profile.
  const settlement: Settlement = {
    delivery,
    status: verdict.kind === 'delivered' ? 'success' : verdict.kind === 'retry' ? 'pending' : 'failed',
    attempts: delivery.attempts + 1,
    attempted_at: attemptedAt,
    http_status: answered ? outcome.httpStatus : null,
    error: answered ? null : outcome.error,
    duration_ms: outcome.durationMs,
    response: answered ? outcome.response : null,
  };
  if (verdict.kind === 'retry') settlement.wait_ms = verdict.waitMs;
  if (verdict.kind === 'gone') return { settlement, gone: target };
  if (verdict.kind !== 'exhausted') return { settlement };
  return {
    settlement,
    event: deliveryFailed(target, {
      delivery_id: delivery.delivery_id,
      event_id: delivery.event_id,
      event_type: delivery.type,
      attempts: settlement.attempts,
      http_status: answered ? outcome.httpStatus : null,
      error: answered ? null : outcome.error,
      last_attempt_at: attemptedAt.toISOString(),
    }),
  };
}

/** What is written where no attempt was made: it stays as it was, or ends without one. */
export function setAside(
  delivery: LeasedDelivery,
  end: Pick<Settlement, 'status' | 'wait_ms' | 'error'>,
): Settlement {
  return { delivery, attempts: delivery.attempts, ...end };
}
