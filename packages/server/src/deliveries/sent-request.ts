import type { FastifyRequest } from 'fastify';
import { envelopeText, type StoredEvent } from '../events/event.js';
import { readEvent } from '../events/event-store.js';
import { evidenceUrl } from '../outcomes/evidence.js';
import type { Queryable } from '../postgres/database.js';
import { type ShownRequest, shownHeaders } from '../sending/request.js';
import type { Webhook } from '../webhooks/webhook.js';
import type { DeliveryDetail } from './history-store.js';

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
    ...(event && about(event)),
    delivery: { id: delivery.id, attempt: Math.max(1, delivery.attempts) },
  };
  const at = delivery.attempted_at;
  return {
    url: urlOf(webhook, delivery),
    headers: shownHeaders(message, {
      userAgent,
      at,
      customNames: hasChangedSince(webhook, at) ? [] : webhook.header_names,
    }),
    body: event ? envelopeText(event, event.payload) : null,
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

function hasChangedSince({ destination_changed_at }: Webhook, at: Date | null): boolean {
  return at !== null && destination_changed_at !== null && destination_changed_at > at;
}

function about(event: StoredEvent) {
  return {
    subject: { type: event.subject_type, id: event.subject_id },
    actor: { type: event.actor_type, id: event.actor_id },
  };
}
