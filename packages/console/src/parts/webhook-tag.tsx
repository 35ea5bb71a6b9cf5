import type { Webhook } from '../api/types';

export type WebhookCondition = 'active' | 'failing' | 'unverified' | 'paused' | 'disabled';

/** The API's status, with what people ask about first: does it fail now, and was it stopped by hand? */
export function conditionOf(webhook: Webhook): WebhookCondition {
  if (webhook.status === 'unverified') return 'unverified';
  if (webhook.status === 'disabled') return webhook.disabled_reason === 'manual' ? 'paused' : 'disabled';
  return webhook.last_delivery_status === 'failed' ? 'failing' : 'active';
}

export function needsAttention(webhook: Webhook): boolean {
  return ['failing', 'unverified', 'disabled'].includes(conditionOf(webhook));
}

const tags: Record<WebhookCondition, [className: string, text: string]> = {
  active: ['ok', 'Active'],
  failing: ['bad', 'Failing'],
  unverified: ['warn', 'Unverified'],
  paused: ['mute', 'Paused'],
  disabled: ['bad', 'Disabled'],
};

export function WebhookTag({ webhook }: { webhook: Webhook }) {
  const [className, text] = tags[conditionOf(webhook)];
  return <span className={`tag ${className}`}>{text}</span>;
}

/** What people call a webhook: its description, or else the host and path of its URL. */
export function webhookName(webhook: Pick<Webhook, 'description' | 'url'>): string {
  return webhook.description?.trim() || webhook.url.replace(/^https?:\/\//, '').replace(/\/$/, '');
}
