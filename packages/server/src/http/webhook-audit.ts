import type { FastifyRequest } from 'fastify';
import { type Changes, changesBetween, type NewAuditEntry } from '../domain/audit.js';
import type { Webhook } from '../domain/webhook.js';

type WebhookAction =
  | 'webhook.created'
  | 'webhook.updated'
  | 'webhook.deleted'
  | 'webhook.tested'
  | 'webhook.verified'
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

/** What of a webhook is in the audit log. Secrets never are. */
export function auditedFields({ url, event_types, status, disabled_reason }: Webhook) {
  return { url, event_types, status, disabled_reason };
}

/** The entry for a change, which tells what differs between the webhook before and after. */
export function changedEntry(
  request: FastifyRequest,
  before: Webhook,
  after: Webhook,
  action: 'webhook.updated' | 'webhook.verified' = 'webhook.updated',
): NewAuditEntry {
  const changes = changesBetween(auditedFields(before), auditedFields(after));
  return webhookEntry(request, before, action, changes);
}
