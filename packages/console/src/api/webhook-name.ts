import type { Webhook } from '@posthorn/client';

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
