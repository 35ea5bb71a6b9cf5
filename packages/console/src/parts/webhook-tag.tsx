import type { Webhook } from '@posthorn/client';
import type { JudgedWebhook } from '../api/webhooks';

export type ShownStatus = 'active' | 'failing' | 'unverified' | 'disabled' | 'disabled_manually';

/** Returns the API's status, extended with what people ask first: is the webhook failing, and did someone disable it? */
export function shownStatusOf(webhook: JudgedWebhook): ShownStatus {
  if (webhook.status === 'unverified') return 'unverified';
  if (webhook.status === 'disabled')
    return webhook.disabled_reason === 'manual' ? 'disabled_manually' : 'disabled';
  return (webhook.isFailing ?? webhook.last_delivery_status === 'failed') ? 'failing' : 'active';
}

export function needsAttention(webhook: Webhook): boolean {
  return ['failing', 'unverified', 'disabled'].includes(shownStatusOf(webhook));
}

const tags: Record<ShownStatus, [className: string, text: string]> = {
  active: ['ok', 'Active'],
  failing: ['bad', 'Failing'],
  unverified: ['warn', 'Unverified'],
  disabled: ['bad', 'Disabled'],
  disabled_manually: ['mute', 'Disabled'],
};

export function WebhookTag({ webhook }: { webhook: Webhook }) {
  const [className, text] = tags[shownStatusOf(webhook)];
  return <span className={`tag ${className}`}>{text}</span>;
}

const nameMax = 44;
const pathMin = 16;

/**
 * Returns a name for a webhook: its description, or else the host and the end of the path, which tell webhooks apart.
 */
export function webhookName(webhook: Pick<Webhook, 'description' | 'url'>): string {
  const description = webhook.description?.trim();
  if (description) return description;
  const host = hostOf(webhook.url);
  const path = webhook.url.replace(/^https?:\/\/[^/?#]*/, '').replace(/\/$/, '');
  const room = Math.max(pathMin, nameMax - host.length);
  return host + (path.length <= room ? path : `/…${path.slice(-room)}`);
}

/** Returns the host and port of a URL. */
export function hostOf(url: string): string {
  return /^https?:\/\/([^/?#]*)/.exec(url)?.[1] ?? url;
}
