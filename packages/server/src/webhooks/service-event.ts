import type { NewEvent } from '../events/event.js';
import type { DisabledReason, VerificationFailure } from './webhook.js';

/** The webhook that an event is about. */
interface About {
  id: string;
  organization_id: string;
  workspace_id: string | null;
}

export type ServiceEvent = NewEvent & { undelivered?: boolean };

/** The actor of events that the service records. */
export const serviceActor = { type: 'system', id: 'posthorn' };

function serviceEvent(type: string, webhook: About, payload: Record<string, unknown>): ServiceEvent {
  const { organization_id, workspace_id } = webhook;
  return {
    type,
    organization_id,
    workspace_id,
    actor: serviceActor,
    subject: { type: 'webhook', id: webhook.id },
    payload,
  };
}

export interface GivenUp {
  delivery_id: string;
  event_id: string;
  event_type: string;
  attempts: number;
  http_status: number | null;
  error: string | null;
  last_attempt_at: string;
}

/**
 * Returns the event for a delivery that the service gave up on. If the undelivered event was itself about a webhook,
 * the new event is recorded but not delivered: otherwise two failing webhooks would report each other's failures
 * forever.
 */
export function deliveryFailed(webhook: About, givenUp: GivenUp): ServiceEvent {
  const event = serviceEvent('webhook.delivery_failed', webhook, { webhook_id: webhook.id, ...givenUp });
  return givenUp.event_type.startsWith('webhook.') ? { ...event, undelivered: true } : event;
}

/** The event type. It is also the action in the audit log if someone requested the verification. */
export const verificationFailedType = 'webhook.verification_failed';

/**
 * Returns the event for a failed verification. It leaves out the receiver's response, which only tokens that can read
 * the webhook may see.
 */
export function verificationFailed(webhook: About, failure: VerificationFailure): ServiceEvent {
  const { reason, http_status, duration_ms } = failure;
  return serviceEvent(verificationFailedType, webhook, {
    webhook_id: webhook.id,
    reason,
    http_status,
    duration_ms,
  });
}

export function webhookDisabled(webhook: About, reason: DisabledReason): ServiceEvent {
  return serviceEvent('webhook.disabled', webhook, { webhook_id: webhook.id, reason });
}
