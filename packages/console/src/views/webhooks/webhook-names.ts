import type { Webhook } from '@posthorn/client';
import { hostOf, webhookName } from './webhook-tag';

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
