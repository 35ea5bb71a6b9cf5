import { signingKey } from '@posthorn/receiver';
import type { Target } from '../sending/attempt.js';
import type { SecretBox } from '../values/secret-box.js';
import { constantHeaders, openHeaders } from './webhook-headers.js';
import type { WebhookWithoutHealth } from './webhook-store.js';

/** Returns where to send a webhook's requests, and the keys that sign them. */
export function targetOf(webhook: WebhookWithoutHealth, secrets: SecretBox): Target {
  const { previous_secret: previous, previous_secret_until: until } = webhook;
  const url = new URL(webhook.url);
  return {
    id: webhook.id,
    organization_id: webhook.organization_id,
    workspace_id: webhook.workspace_id,
    url,
    givenUrl: webhook.url,
    origin: url.origin,
    path: url.pathname + url.search,
    headers: constantHeaders(openHeaders(webhook.headers, webhook.id, secrets)),
    rateLimit: webhook.rate_limit ?? undefined,
    key: signingKey(secrets.open(webhook.secret, webhook.id)),
    previous: previous && until ? previousKey(previous, until, webhook.id, secrets) : undefined,
  };
}

/** Returns the previous key, or undefined if its secret cannot be decrypted. The current key still signs. */
function previousKey(sealed: Buffer, until: Date, webhookId: string, secrets: SecretBox): Target['previous'] {
  try {
    return { key: signingKey(secrets.open(sealed, webhookId)), untilMs: until.getTime() };
  } catch {
    return undefined;
  }
}
