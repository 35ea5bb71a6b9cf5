import { type SigningKey, signingKey } from '@posthorn/receiver';
import type { SecretBox } from '../domain/secret-box.js';
import { constantHeaders, openHeaders } from '../domain/webhook-headers.js';
import type { WebhookWithoutHealth } from '../storage/webhooks.js';

/** Where the requests for a webhook go, and how they are signed. */
export interface Target {
  id: string;
  organization_id: string;
  workspace_id: string | null;
  url: URL;
  /** The URL as it is stored for the webhook. Parsing can change it. */
  givenUrl: string;
  /** The parts of the URL, computed once, because the getters of `URL` create a new string each time. */
  origin: string;
  path: string;
  /** The headers of every request, including the webhook's custom headers, as alternating names and values. */
  headers: readonly string[];
  /** Maximum requests per second. */
  rateLimit: number | undefined;
  key: SigningKey;
  /** The previous secret, during its grace period. */
  previous: { key: SigningKey; untilMs: number } | undefined;
}

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
