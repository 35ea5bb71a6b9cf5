import type { FastifyRequest } from 'fastify';
import { readEvent } from '../events/event-store.js';
import { diagnose } from '../outcomes/diagnosis.js';
import type { FailedAttempt, NextAttempt } from '../outcomes/failed-attempt.js';
import { evidenceUrl } from '../outcomes/outcome.js';
import type { Queryable } from '../postgres/database.js';
import { type ShownRequest, shownHeaders } from '../sending/request.js';
import { bodyText, contentTypeOf } from '../webhooks/format.js';
import type { Webhook } from '../webhooks/webhook.js';
import type { DeliveryDetail, EarlierAttempt, StoredDelivery } from './delivery-store.js';

/** Returns a delivery as the API shows it. While its webhook is not active, it has no next attempt. */
export function deliveryBody(delivery: StoredDelivery, webhookIsActive: boolean) {
  const { id, webhook_id, event_id, event_type, http_status, error, duration_ms } = delivery;
  const { status, attempts, attempted_at, created_at, due_at } = delivery;
  const attempted = attempts > 0 && attempted_at !== null;
  const base = {
    id,
    webhook_id,
    event_id,
    event_type,
    status: statusOf(status, attempted),
    final: status !== 'pending',
    http_status,
    error,
    duration_ms,
    attempts,
    created_at,
  };
  if (status === 'success')
    return { ...base, delivered_at: new Date((attempted_at?.getTime() ?? 0) + (duration_ms ?? 0)) };
  return {
    ...base,
    ...(attempted && { last_attempt_at: attempted_at }),
    next_attempt_at: status === 'pending' && webhookIsActive ? due_at : null,
  };
}

/**
 * Returns the status as the API shows it. A delivery that is between attempts, or was canceled after one, is `failed`.
 */
function statusOf(status: StoredDelivery['status'], attempted: boolean) {
  return status === 'cancelled' || (status === 'pending' && attempted) ? 'failed' : status;
}

/** Returns the attempts of a delivery, each failed one with its explanation. `context` is what is not stored about them. */
export function attemptLog(
  delivery: DeliveryDetail,
  webhookIsActive: boolean,
  context: Pick<FailedAttempt, 'url' | 'bodyBytes' | 'secretRotatedAt'>,
) {
  const made = attemptsOf(delivery);
  return made.map(({ attempt, attempted_at, http_status, error, duration_ms, response, evidence }, index) => {
    const base = { attempt, attempted_at, http_status, error, duration_ms, response };
    if (http_status !== null && http_status >= 200 && http_status <= 299) return base;
    const next = nextOf(delivery, made[index + 1], webhookIsActive);
    const about = { next, evidence, deliveryId: delivery.id, ...context };
    const diagnosis = diagnose({ purpose: 'delivery', ...base, ...about });
    return { ...base, ...diagnosis, response_headers: evidence?.headers ?? {} };
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

/**
 * Returns the request of a delivery's latest attempt or, before the first attempt, the request that will be sent. The
 * parts that come from the event are shown only to tokens that may read events.
 */
export async function sentRequest(
  database: Queryable,
  request: FastifyRequest,
  sent: { webhook: Webhook; delivery: DeliveryDetail; userAgent: string; earliestMs: number },
): Promise<ShownRequest> {
  const { webhook, delivery, userAgent, earliestMs } = sent;
  const event = request.token.scopes.includes('events:read')
    ? await readEvent(database, {
        id: delivery.event_id,
        organization_id: webhook.organization_id,
        workspace_id: undefined,
        createdMs: delivery.event_created_at.getTime(),
        earliestMs,
      })
    : undefined;
  const message = {
    id: delivery.event_id,
    ...(event && {
      subject: { type: event.subject_type, id: event.subject_id },
      actor: { type: event.actor_type, id: event.actor_id },
    }),
    delivery: { id: delivery.id, attempt: Math.max(1, delivery.attempts) },
  };
  const at = delivery.attempted_at;
  return {
    url: urlOf(webhook, delivery),
    headers: shownHeaders(message, {
      contentType: contentTypeOf(webhook.format),
      userAgent,
      at,
      customNames: hasChangedSince(webhook, at) ? [] : webhook.header_names,
    }),
    body: event && !isAfter(webhook.format_changed_at, at) ? bodyText(webhook, event) : null,
  };
}

/**
 * Returns the URL of the latest attempt. If the webhook has changed since then, returns the URL stored with a failed
 * attempt, which has no query, or null if the attempt succeeded.
 */
function urlOf(webhook: Webhook, { attempted_at, evidence }: DeliveryDetail): string | null {
  if (attempted_at === null) return webhook.url;
  const { origin, pathname } = new URL(webhook.url);
  if (evidence && evidenceUrl(origin + pathname) !== evidence.url) return evidence.url;
  return hasChangedSince(webhook, attempted_at) ? (evidence?.url ?? null) : webhook.url;
}

const hasChangedSince = ({ destination_changed_at }: Webhook, at: Date | null) =>
  isAfter(destination_changed_at, at);

const isAfter = (change: Date | null, at: Date | null) => at !== null && change !== null && change > at;
