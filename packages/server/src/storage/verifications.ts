import { verificationFailed } from '../domain/own-event.js';
import { reverifyAfterMs, type VerificationFailure, type Webhook } from '../domain/webhook.js';
import type { Queryable } from './database.js';
import { batchOf, type Placement, type RecordedBatch, recordBatch } from './recording.js';
import { changeWebhook, readWebhook, type WebhookChange } from './webhooks.js';

/**
 * Writes what came of a verification, with further changes that depended on it; a failure is recorded as an
 * event in the same transaction. Undefined where the webhook was deleted or changed in the meantime.
 * `automatic`: made by the service itself, which has set the next one already.
 */
export async function settleVerification(
  client: Queryable,
  webhook: Webhook,
  failure: VerificationFailure | undefined,
  now: Date,
  placement: Placement,
  options: { change?: WebhookChange; automatic?: boolean } = {},
): Promise<{ webhook: Webhook; batch: RecordedBatch | undefined } | undefined> {
  const current = await readWebhook(
    client,
    { organization_id: webhook.organization_id, id: webhook.id },
    true,
  );
  if (!current || current.revision !== webhook.revision) return undefined;
  const change: WebhookChange = {
    ...options.change,
    ...(failure
      ? { status: 'unverified' as const, ...(!options.automatic && firstRetry(now)) }
      : {
          status: 'active' as const,
          verifications: 0,
          verify_at: null,
          failing_since: null,
          last_failure_at: null,
        }),
    disabled_reason: null,
    verification_failure: failure ? { at: now.toISOString(), ...failure } : null,
  };
  const changed = await changeWebhook(client, current, change);
  if (!changed) return undefined;
  if (!failure) return { webhook: changed, batch: undefined };
  const batch = await recordBatch(client, batchOf([verificationFailed(changed, failure)]), placement);
  return { webhook: changed, batch };
}

function firstRetry(now: Date): WebhookChange {
  return { verifications: 0, verify_at: new Date(now.getTime() + reverifyAfterMs[0]) };
}
