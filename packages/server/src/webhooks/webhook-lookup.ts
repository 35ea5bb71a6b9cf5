import type { FastifyRequest } from 'fastify';
import { diagnose } from '../outcomes/diagnosis.js';
import type { Queryable } from '../postgres/database.js';
import { Problem } from '../values/problem.js';
import type { Webhook } from './webhook.js';
import { readWebhook, type VisibleWebhookKey } from './webhook-store.js';

/** Returns the key of the webhook in the path, limited to what the token may see. */
export function webhookKey(request: FastifyRequest): VisibleWebhookKey {
  const { webhook_id: id } = request.params as { webhook_id: string };
  return {
    organization_id: request.token.organization_id,
    id,
    only_workspace_id: request.token.workspace_id ?? undefined,
  };
}

export async function findWebhook(
  client: Queryable,
  request: FastifyRequest,
  lock = false,
): Promise<Webhook> {
  const webhook = await readWebhook(client, webhookKey(request), lock);
  if (!webhook) throw noWebhook();
  return webhook;
}

export function noWebhook(): Problem {
  return new Problem('not_found', 'The webhook does not exist.');
}

type Failure = NonNullable<Webhook['verification_failure']>;

/** Returns a failure as the API shows it, with its diagnosis. Restores the field order, which the database loses. */
function failureBody({ at, reason, http_status, duration_ms, response, evidence }: Failure, url: string) {
  const diagnosis = diagnose({
    purpose: 'verification',
    attemptedAt: new Date(at),
    response,
    url,
    evidence: evidence ?? null,
    httpStatus: http_status,
    error: http_status === null ? reason : null,
    durationMs: duration_ms,
  });
  return { at, reason, http_status, duration_ms, response, ...diagnosis };
}

/** Returns a webhook as the API shows it. It never contains a secret or the value of a header. */
export function webhookBody(webhook: Webhook) {
  const { status, verification_failure: failure } = webhook;
  return {
    id: webhook.id,
    organization_id: webhook.organization_id,
    workspace_id: webhook.workspace_id,
    url: webhook.url,
    description: webhook.description,
    status,
    disabled_reason: webhook.disabled_reason,
    event_types: webhook.event_types,
    rate_limit: webhook.rate_limit,
    headers: Object.fromEntries(webhook.header_names.map((name) => [name, null])),
    created_at: webhook.created_at.toISOString(),
    last_delivery_at: webhook.last_delivery_at?.toISOString() ?? null,
    last_delivery_status: webhook.last_delivery_status,
    verification_failure: status === 'unverified' && failure ? failureBody(failure, webhook.url) : null,
    previous_secret_until: webhook.previous_secret_until?.toISOString() ?? null,
  };
}

/** Returns the body of a new webhook, without the fields that have no value yet. */
export function createdBody(webhook: Webhook) {
  const { disabled_reason, last_delivery_at, last_delivery_status, previous_secret_until, ...data } =
    webhookBody(webhook);
  return data;
}
