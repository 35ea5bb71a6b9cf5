import type { Webhook } from '@posthorn/client';
import type { JudgedWebhook } from '../../api/webhooks';
import { useZone } from '../../browser/preferences';
import { formatMinute } from '../../text/format';
import { t } from '../../text/language';

/** What people see first is first. */
const statuses = [
  'failing',
  'disabled',
  'unverified',
  'waiting',
  'active',
  'paused',
  'disabled_manually',
] as const;
export type ShownStatus = (typeof statuses)[number];

/**
 * Returns the API's status, extended with what people ask first: is the webhook failing, does it wait because its
 * receiver asked for that, and did someone disable it?
 */
export function shownStatusOf(webhook: JudgedWebhook): ShownStatus {
  if (webhook.status === 'unverified' || webhook.status === 'paused') return webhook.status;
  if (webhook.status === 'disabled')
    return webhook.disabled_reason === 'manual' ? 'disabled_manually' : 'disabled';
  if (webhook.waitsUntil) return 'waiting';
  return (webhook.isFailing ?? webhook.last_delivery_status === 'failed') ? 'failing' : 'active';
}

/** The order of webhooks everywhere: those with problems come first, then by name. */
export function byUrgency(one: JudgedWebhook, other: JudgedWebhook): number {
  const first = statuses.indexOf(shownStatusOf(one)) - statuses.indexOf(shownStatusOf(other));
  return first || webhookName(one).localeCompare(webhookName(other), undefined, { numeric: true });
}

export function needsAttention(webhook: Webhook): boolean {
  return ['failing', 'unverified', 'disabled'].includes(shownStatusOf(webhook));
}

/** Says what must happen to a webhook before it is sent events. */
export const beforeEvents = {
  active: '',
  paused: t`This webhook receives no events until it is resumed.`,
  unverified: t`This webhook receives no events until it is verified.`,
  disabled: t`This webhook receives no events until it is activated.`,
};

const tags: Record<ShownStatus, [className: string, text: string]> = {
  active: ['ok', t`Active`],
  waiting: ['mute', t`Waiting`],
  failing: ['bad', t`Failing`],
  unverified: ['warn', t`Unverified`],
  paused: ['mute', t`Paused`],
  disabled: ['bad', t`Disabled`],
  disabled_manually: ['mute', t`Disabled`],
};

export function WebhookTag({
  webhook,
  isShort = false,
}: {
  webhook: JudgedWebhook;
  /** Whether what else there is to say follows the tag. */
  isShort?: boolean;
}) {
  const [className, text] = tags[shownStatusOf(webhook)];
  return (
    <span className={`tag ${className}`}>
      {text}
      {webhook.waitsUntil && !isShort && <Until at={webhook.waitsUntil} />}
    </span>
  );
}

/** ` until 21:54` */
function Until({ at }: { at: string }) {
  return <time dateTime={at}>&nbsp;{t`until ${formatMinute(Date.parse(at), useZone())}`}</time>;
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

/**
 * Returns the names of webhooks by their IDs, for where only the name is shown. Those with the same name also get their
 * host or, if that is the same too, the end of their ID.
 */
export function webhookNames(webhooks: readonly Webhook[]): ReadonlyMap<string, string> {
  const named = webhooks.map((webhook) => ({ webhook, name: webhookName(webhook) }));
  return new Map(
    named.map(({ webhook, name }) => {
      const alike = named.filter((other) => other.name === name).map((other) => hostOf(other.webhook.url));
      if (alike.length < 2) return [webhook.id, name];
      const host = hostOf(webhook.url);
      const isOnly = alike.filter((other) => other === host).length === 1;
      return [webhook.id, `${name} (${isOnly ? host : `…${webhook.id.slice(-5)}`})`];
    }),
  );
}
