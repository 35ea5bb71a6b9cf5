import type { FastifyRequest } from 'fastify';
import { type Changes, changesBetween, type NewAuditEntry } from '../audit/audit.js';
import type { verificationFailedType, Webhook } from './webhook.js';

type WebhookAction =
  | 'webhook.created'
  | 'webhook.updated'
  | 'webhook.deleted'
  | 'webhook.tested'
  | 'webhook.verified'
  | typeof verificationFailedType
  | 'webhook.secret_rotated'
  | 'webhook.redelivered'
  | 'webhook.replayed';

/** Returns the audit log entry for what a request did to a webhook, with the request's source address. */
export function webhookEntry(
  request: FastifyRequest,
  webhook: Pick<Webhook, 'id' | 'organization_id' | 'workspace_id'>,
  action: WebhookAction,
  changes: Changes,
): NewAuditEntry {
  return {
    organization_id: webhook.organization_id,
    workspace_id: webhook.workspace_id,
    actor: request.token.actor,
    action,
    target: { type: 'webhook', id: webhook.id },
    request_id: request.id,
    source_address: request.sourceAddress,
    changes,
  };
}

type Audited = Pick<
  Webhook,
  | 'url'
  | 'event_types'
  | 'status'
  | 'disabled_reason'
  | 'description'
  | 'rate_limit'
  | 'header_names'
  | 'headers'
>;

/** Returns the fields of a webhook that go into the audit log. Secrets and the values of headers never do. */
export function auditedFields(webhook: Audited) {
  const {
    url,
    event_types,
    status,
    disabled_reason,
    description,
    rate_limit,
    header_names: headers,
  } = webhook;
  return { url, event_types, status, disabled_reason, description, rate_limit, headers: namesOf(headers) };
}

const namesOf = (names: readonly string[]) => (names.length === 0 ? null : names);

/** Returns the audit log entry for a change, with the fields that differ. */
export function changedEntry(
  request: FastifyRequest,
  before: Webhook,
  after: Webhook,
  action: WebhookAction = 'webhook.updated',
): NewAuditEntry {
  const [from, to] = [auditedFields(before), auditedFields(after)];
  const changes = {
    ...changesBetween(from, to),
    // Included even if only a value has changed: the entry shows that the headers changed, but not the values.
    ...(!sameBytes(before.headers, after.headers) && { headers: { from: from.headers, to: to.headers } }),
  };
  return webhookEntry(request, before, action, changes);
}

/**
 * Returns whether the bytes are equal. Encrypting a value twice gives different bytes, so setting the same value counts
 * as a change.
 */
function sameBytes(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}
