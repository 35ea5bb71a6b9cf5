import { diagnose } from '../domain/diagnosis.js';
import type { DeliveryDetail, EarlierAttempt, StoredDelivery } from '../storage/delivery-history.js';

/** Returns a delivery as the API shows it. */
export function deliveryBody(delivery: StoredDelivery) {
  const attempted = delivery.attempts > 0 && delivery.attempted_at !== null;
  const base = {
    id: delivery.id,
    webhook_id: delivery.webhook_id,
    event_id: delivery.event_id,
    event_type: delivery.event_type,
    status: delivery.status === 'pending' && attempted ? 'failed' : delivery.status,
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
    next_attempt_at: delivery.status === 'pending' ? delivery.due_at.toISOString() : null,
  };
}

/** What it takes to explain an attempt, besides what is stored about it. */
export interface AttemptContext {
  /** The current URL of the webhook. */
  url: string;
  bodyBytes: number | undefined;
}

export function attemptLog(delivery: DeliveryDetail, context: AttemptContext) {
  const { earlier_attempts: earlier, attempts, attempted_at } = delivery;
  const log = (earlier ?? []).map((one) =>
    attemptBody(one, new Date(one.attempted_at), delivery.id, context),
  );
  // If the delivery was given up with its webhook, its last attempt is already in the log.
  const isComplete = log.length >= attempts || attempted_at === null;
  if (isComplete) return log;
  return [...log, attemptBody({ ...delivery, attempt: attempts }, attempted_at, delivery.id, context)];
}

function attemptBody(
  attempt: Omit<EarlierAttempt, 'attempted_at'>,
  attemptedAt: Date,
  deliveryId: string,
  context: AttemptContext,
) {
  const { attempt: number, http_status, error, duration_ms, response } = attempt;
  const base = {
    ...{
      attempt: number,
      attempted_at: attemptedAt.toISOString(),
      http_status,
      error,
      duration_ms,
      response,
    },
  };
  if (http_status !== null && http_status >= 200 && http_status <= 299) return base;
  const evidence = attempt.evidence ?? null;
  const diagnosis = diagnose({
    ...{ purpose: 'delivery', attemptedAt, error, response, evidence, deliveryId, ...context },
    ...{ httpStatus: http_status, durationMs: duration_ms },
  });
  return { ...base, ...diagnosis, response_headers: evidence?.headers ?? {} };
}
