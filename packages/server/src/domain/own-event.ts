import type { NewEvent } from './event.js';
import type { DisabledReason, VerificationFailure } from './webhook.js';

/** The service's own events are about a webhook and carry its organization and workspace. */
interface About {
  id: string;
  organization_id: string;
  workspace_id: string | null;
}

export type OwnEvent = NewEvent & { undelivered?: boolean };

/** Who does what the service does by itself. */
export const serviceActor = { type: 'system', id: 'posthorn' };

function own(type: string, webhook: About, payload: Record<string, unknown>): OwnEvent {
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
 * The delivery of an event about webhooks may fail like any other, and that is recorded too; but this
 * record goes to nobody, or two webhooks that always fail would tell each other for ever.
 */
export function deliveryFailed(webhook: About, givenUp: GivenUp): OwnEvent {
  const event = own('webhook.delivery_failed', webhook, { webhook_id: webhook.id, ...givenUp });
  return givenUp.event_type.startsWith('webhook.') ? { ...event, undelivered: true } : event;
}

/** Without the receiver's own words: those are for whoever manages the webhook. */
export function verificationFailed(webhook: About, failure: VerificationFailure): OwnEvent {
  const { reason, http_status, duration_ms } = failure;
  return own('webhook.verification_failed', webhook, {
    ...{ webhook_id: webhook.id, reason, http_status, duration_ms },
  });
}

export function webhookDisabled(webhook: About, reason: DisabledReason): OwnEvent {
  return own('webhook.disabled', webhook, { webhook_id: webhook.id, reason });
}
