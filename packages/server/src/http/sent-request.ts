import type { FastifyRequest } from 'fastify';
import { envelopeText } from '../domain/envelope.js';
import type { StoredEvent } from '../domain/event.js';
import { type ShownRequest, shownHeaders } from '../domain/message-headers.js';
import type { Webhook } from '../domain/webhook.js';
import type { Queryable } from '../storage/database.js';
import type { StoredDelivery } from '../storage/delivery-history.js';
import { readEvent } from '../storage/events.js';

/**
 * Returns the request of a delivery as it is sent now, with the number and the time of its latest attempt. The parts
 * that come from the event are shown only to a token that may read events.
 */
export async function sentRequest(
  database: Queryable,
  request: FastifyRequest,
  sent: { webhook: Webhook; delivery: StoredDelivery; userAgent: string; oldestMs: number },
): Promise<ShownRequest> {
  const { webhook, delivery, userAgent, oldestMs } = sent;
  const event = request.token.scopes.includes('events:read')
    ? await readEvent(database, {
        ...{ id: delivery.event_id, organization_id: webhook.organization_id, workspace_id: undefined },
        ...{ createdMs: delivery.event_created_at.getTime(), oldestMs },
      })
    : undefined;
  const message = {
    id: delivery.event_id,
    ...(event && about(event)),
    delivery: { id: delivery.id, attempt: Math.max(1, delivery.attempts) },
  };
  const at = delivery.attempted_at;
  return {
    url: webhook.url,
    headers: shownHeaders(message, { userAgent, at, ownNames: webhook.header_names }),
    body: event ? envelopeText(event, event.payload) : null,
  };
}

function about(event: StoredEvent) {
  return {
    subject: { type: event.subject_type, id: event.subject_id },
    actor: { type: event.actor_type, id: event.actor_id },
  };
}
