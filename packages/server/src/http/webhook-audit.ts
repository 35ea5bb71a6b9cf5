import type { FastifyRequest } from 'fastify';
import { type Changes, changesBetween, type NewAuditEntry } from '../domain/audit.js';
import type { Webhook } from '../domain/webhook.js';

type WebhookAction =
  | 'webhook.created'
  | 'webhook.updated'
  | 'webhook.deleted'
  | 'webhook.tested'
  | 'webhook.verified'
  | 'webhook.verification_failed'
  | 'webhook.secret_rotated'
  | 'webhook.redelivered'
  | 'webhook.replayed';

/** Returns the audit log entry for what a request did to a webhook. The address is the one that the listener sees. */
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
    source_address: request.ip,
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

/** What of a webhook is in the audit log. Secrets and the values of headers never are. */
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

/** The entry for a change, which tells what differs between the webhook before and after. */
export function changedEntry(
  request: FastifyRequest,
  before: Webhook,
  after: Webhook,
  action: 'webhook.updated' | 'webhook.verified' | 'webhook.verification_failed' = 'webhook.updated',
): NewAuditEntry {
  const [from, to] = [auditedFields(before), auditedFields(after)];
  const changes = {
    ...changesBetween(from, to),
    // Also if only a value is another: that is not shown, but that it changed is.
    ...(!sameBytes(before.headers, after.headers) && { headers: { from: from.headers, to: to.headers } }),
  };
  return webhookEntry(request, before, action, changes);
}

/** Encrypting the same twice gives other bytes, so a change that sets the same value counts as one. */
function sameBytes(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}
