import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { NewAuditEntry } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import type { Database } from '../postgres/database.js';
import { Problem } from '../values/problem.js';
import { settleVerification } from './probe-store.js';
import type { DeliveryControl } from './probes.js';
import { verificationFailedType, type Webhook } from './webhook.js';
import { changedEntry, webhookEntry } from './webhook-audit.js';
import { findWebhook, webhookBody } from './webhook-lookup.js';
import { NoBody, WebhookSchema, webhookParams } from './webhook-schemas.js';
import type { WebhookChange } from './webhook-store.js';

export interface VerifyOptions {
  database: Database;
  control: DeliveryControl;
  now: () => number;
}

/** Adds `POST /v1/webhooks/{id}/verify`. */
export function webhookVerifyRoute(app: FastifyInstance, options: VerifyOptions): void {
  const { database, control } = options;

  app.post(
    '/v1/webhooks/:webhook_id/verify',
    {
      config: {
        scopes: ['webhooks:write', 'events:read'],
        idempotent: true,
        bodyIsOptional: true,
        refusals: ['webhook_not_active'],
      },
      schema: {
        operationId: 'verifyWebhook',
        tags: ['Webhooks'],
        summary: 'Verify a webhook',
        description:
          'Sends the verification request again and waits up to 5 seconds for the result. If your receiver returns 200, ' +
          'the webhook is `active`. Otherwise it is `unverified`, and `verification_failure` says why.',
        params: webhookParams,
        body: NoBody,
        response: { 200: Type.Object({ data: WebhookSchema }) },
      },
    },
    async (request) => {
      const webhook = await findWebhook(database, request);
      if (webhook.status === 'disabled') {
        throw new Problem(
          'webhook_not_active',
          'The webhook is disabled. To activate it, send PATCH with {"status": "active"}.',
        );
      }
      const entryOf = (settled: Webhook) => changedEntry(request, webhook, settled, actionOf(settled));
      const settled =
        (await verifyAndSettle(options, webhook, {}, entryOf)) ?? (await discardResult(request));
      if (settled.status !== webhook.status) await control.forgetEverywhere(webhook);
      return { data: webhookBody(settled) };
    },
  );

  /**
   * Discards the result, because the webhook changed while it was being verified. Writes an audit log entry and returns
   * the webhook as it is now.
   */
  async function discardResult(request: FastifyRequest): Promise<Webhook> {
    return auditedWrite(database, request.token.organization_id, async (client) => {
      const webhook = await findWebhook(client, request);
      await writeAudit(client, [webhookEntry(request, webhook, actionOf(webhook), {})]);
      return webhook;
    });
  }
}

function actionOf({ status }: Webhook) {
  return status === 'active' ? 'webhook.verified' : verificationFailedType;
}

/**
 * Verifies the webhook as it will be after the change, then writes the result together with the change and its audit
 * log entry.
 */
export async function verifyAndSettle(
  { database, control, now }: VerifyOptions,
  webhook: Webhook,
  change: WebhookChange = {},
  entryOf?: (settled: Webhook) => NewAuditEntry,
): Promise<Webhook | undefined> {
  const { url = webhook.url, headers = webhook.headers } = change;
  const candidate = { ...webhook, url, headers };
  const failure = await control.verify(candidate);
  const settled = await auditedWrite(database, webhook.organization_id, async (client) => {
    const room = control.room();
    const settled = await settleVerification(client, webhook, failure, new Date(now()), room, {
      change,
    });
    const entry = settled && entryOf?.(settled.webhook);
    if (entry) await writeAudit(client, [entry]);
    return settled;
  });
  if (settled?.batch) control.accept(settled.batch);
  return settled?.webhook;
}
