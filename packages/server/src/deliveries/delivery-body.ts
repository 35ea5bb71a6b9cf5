import { diagnose, type NextAttempt } from '../outcomes/diagnosis.js';
import type { DeliveryDetail, EarlierAttempt, StoredDelivery } from './history-store.js';

/** Returns a delivery as the API shows it. While its webhook is not active, it has no next attempt. */
export function deliveryBody(delivery: StoredDelivery, webhookIsActive: boolean) {
  const attempted = delivery.attempts > 0 && delivery.attempted_at !== null;
  const base = {
    id: delivery.id,
    webhook_id: delivery.webhook_id,
    event_id: delivery.event_id,
    event_type: delivery.event_type,
    status: statusOf(delivery.status, attempted),
    final: delivery.status !== 'pending',
    http_status: delivery.http_status,
    error: delivery.error,
    duration_ms: delivery.duration_ms,
    attempts: delivery.attempts,
    created_at: delivery.created_at.toISOString(),
  };
  const attemptedAt = delivery.attempted_at?.getTime() ?? 0;
  if (delivery.status === 'success') {
    return { ...base, delivered_at: new Date(attemptedAt + (delivery.duration_ms ?? 0)).toISOString() };
  }
  return {
    ...base,
    ...(attempted && { last_attempt_at: new Date(attemptedAt).toISOString() }),
    next_attempt_at: delivery.status === 'pending' && webhookIsActive ? delivery.due_at.toISOString() : null,
  };
}

/**
 * Returns the status as the API shows it. A delivery that is between attempts, or was canceled after one, is `failed`.
 */
function statusOf(status: StoredDelivery['status'], attempted: boolean) {
  return status === 'cancelled' || (status === 'pending' && attempted) ? 'failed' : status;
}

/** What is needed to explain an attempt, in addition to what is stored about it. */
export interface AttemptContext {
  /** The current URL of the webhook. */
  url: string;
  webhookIsActive: boolean;
  bodyBytes: number | undefined;
}

export function attemptLog(delivery: DeliveryDetail, { webhookIsActive, ...context }: AttemptContext) {
  const made = attemptsOf(delivery);
  return made.map((attempt, index) => {
    const next = nextOf(delivery, made[index + 1], webhookIsActive);
    return attemptBody(attempt, delivery.id, next, context);
  });
}

type Attempt = Omit<EarlierAttempt, 'attempted_at'> & { attempted_at: Date };

function attemptsOf(delivery: DeliveryDetail): Attempt[] {
  const { earlier_attempts, attempts, attempted_at } = delivery;
  const earlier = (earlier_attempts ?? []).map((one) => ({
    ...one,
    attempted_at: new Date(one.attempted_at),
  }));
  // If the delivery ended because its webhook was disabled, the earlier attempts include the last one.
  const isComplete = earlier.length >= attempts || attempted_at === null;
  return isComplete ? earlier : [...earlier, { ...delivery, attempt: attempts, attempted_at }];
}

function nextOf(
  { status, due_at }: DeliveryDetail,
  following: Attempt | undefined,
  webhookIsActive: boolean,
): NextAttempt {
  if (following) return { kind: 'made', at: following.attempted_at };
  if (status !== 'pending') return { kind: 'none' };
  return webhookIsActive ? { kind: 'due', at: due_at } : { kind: 'held' };
}

function attemptBody(
  attempt: Attempt,
  deliveryId: string,
  next: NextAttempt,
  context: Omit<AttemptContext, 'webhookIsActive'>,
) {
  const { attempt: number, attempted_at: attemptedAt, http_status, error, duration_ms, response } = attempt;
  const base = {
    attempt: number,
    attempted_at: attemptedAt.toISOString(),
    http_status,
    error,
    duration_ms,
    response,
  };
  if (http_status !== null && http_status >= 200 && http_status <= 299) return base;
  const evidence = attempt.evidence ?? null;
  const diagnosis = diagnose({
    purpose: 'delivery',
    next,
    attemptedAt,
    error,
    response,
    evidence,
    deliveryId,
    ...context,
    httpStatus: http_status,
    durationMs: duration_ms,
  });
  return { ...base, ...diagnosis, response_headers: evidence?.headers ?? {} };
}
