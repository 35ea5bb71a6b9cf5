import type { StoredEvent } from '../events/event.js';
import { type DisabledReason, deliveryFailedType, type Webhook } from '../webhooks/webhook.js';

/** Why a webhook got no delivery of an event. */
export const notDeliveredReasons = [
  'disabled',
  'unverified',
  'not_subscribed',
  'filtered',
  'other_workspace',
  'created_later',
  'about_itself',
] as const;

type MissedEvent = Pick<StoredEvent, 'type' | 'workspace_id' | 'subject_id' | 'created_at' | 'payload'>;

/** A webhook as it is now. */
export interface MissingWebhook
  extends Pick<Webhook, 'id' | 'workspace_id' | 'status' | 'disabled_reason' | 'event_types' | 'created_at'> {
  /** Whether the event matches the filter of the webhook, if it has one. */
  passes_filter: boolean;
}

const disabledBecause: Record<DisabledReason, string> = {
  gone: 'because its receiver responded with 410',
  failing: 'because all its deliveries failed for days',
  manual: 'on request',
};

/** Explains why a webhook that got no delivery of an event did not get one. What cannot change comes first. */
export function whyNotDelivered(event: MissedEvent, webhook: MissingWebhook) {
  const { id: webhook_id, workspace_id, event_types, status } = webhook;
  const because = (reason: (typeof notDeliveredReasons)[number], detail: string) => ({
    webhook_id,
    reason,
    detail,
  });
  if (event.type.startsWith('webhook.') && event.subject_id === webhook_id)
    return because('about_itself', 'A webhook gets no events about itself.');
  if (isAboutServiceEvent(event))
    return because(
      'about_itself',
      'The event reports that the delivery of a webhook.* event failed. It goes to no webhook, so that failing webhooks do not report each other forever.',
    );
  if (workspace_id !== null && workspace_id !== event.workspace_id) {
    const other =
      event.workspace_id === null ? 'concerns the whole organization' : `is of ${event.workspace_id}`;
    return because(
      'other_workspace',
      `The webhook gets only events of ${workspace_id}. This event ${other}.`,
    );
  }
  const [domain] = event.type.split('.');
  if (![event.type, `${domain}.*`, '*'].some((type) => event_types.includes(type)))
    return because(
      'not_subscribed',
      `The webhook is not subscribed to ${event.type}, only to ${listed(event_types)}.`,
    );
  if (!webhook.passes_filter)
    return because('filtered', 'The filter of the webhook does not match the event.');
  if (webhook.created_at > event.created_at)
    return because(
      'created_later',
      'The webhook was created after the event was recorded. A replay sends the event.',
    );
  if (status === 'disabled') {
    const why = disabledBecause[webhook.disabled_reason ?? 'manual'];
    return because('disabled', `The webhook is disabled (${why}). Activate it, then replay the event.`);
  }
  if (status === 'unverified')
    return because('unverified', 'The webhook is unverified. Verify it, then replay the event.');
  return because(
    'unverified',
    `The webhook is ${status} and matches the event now. When the event was recorded, it was unverified or disabled, or had another subscription or filter. A replay sends the event.`,
  );
}

function isAboutServiceEvent({ type, payload }: MissedEvent): boolean {
  if (type !== deliveryFailedType) return false;
  return String((JSON.parse(payload) as { event_type?: unknown }).event_type).startsWith('webhook.');
}

const listedMax = 3;

function listed(types: readonly string[]): string {
  const shown = types.slice(0, listedMax).join(', ');
  return types.length > listedMax ? `${shown} and ${types.length - listedMax} more` : shown;
}
