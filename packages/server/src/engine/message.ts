import { envelopeText } from '../events/envelope.js';
import type { LeasedDelivery } from '../events/leased-delivery.js';
import type { Message } from '../sending/message-headers.js';

/** Returns the next request of a delivery, or undefined if the event no longer exists. */
export function messageOf(delivery: LeasedDelivery): (Message & { body: Buffer }) | undefined {
  const { event_id: id, event_created_at: created_at, type, organization_id, workspace_id } = delivery;
  if (delivery.payload === null) return undefined;
  const head = { id, type, created_at, organization_id, workspace_id };
  return {
    id,
    body: Buffer.from(envelopeText(head, delivery.payload)),
    subject: delivery.subject,
    actor: delivery.actor,
    delivery: { id: delivery.delivery_id, attempt: delivery.attempts + 1 },
  };
}
