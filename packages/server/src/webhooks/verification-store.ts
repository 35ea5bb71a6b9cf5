import { requireHere } from '../cells/relocation-store.js';
import { batchOf, type RecordedBatch, recordBatch } from '../events/recording-store.js';
import type { Room } from '../events/room.js';
import type { Queryable } from '../postgres/database.js';
import { verificationFailed, verificationFailedType } from './service-event.js';
import { reverifyAfterMs, type VerificationFailure, type Webhook } from './webhook.js';
import { changeWebhook, clearFailures, readWebhook, type WebhookChange } from './webhook-store.js';

/**
 * Writes the result of a verification and the changes that depend on it, and records a failure as an event, in one
 * transaction. Returns undefined if the webhook was deleted or changed in the meantime. Throws if the
 * organization is stopped because it is moving to another cell: even a success would be lost. `automatic` means that
 * the service started the verification and has already scheduled the next one.
 */
export async function settleVerification(
  client: Queryable,
  webhook: Webhook,
  failure: VerificationFailure | undefined,
  now: Date,
  room: Room,
  options: { change?: WebhookChange; automatic?: boolean } = {},
): Promise<{ webhook: Webhook; batch: RecordedBatch | undefined } | undefined> {
  await requireHere(client, webhook.organization_id, verificationFailedType);
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
        }),
    disabled_reason: null,
    verification_failure: failure ? { at: now.toISOString(), ...failure } : null,
  };
  const changed = await changeWebhook(client, current, change);
  if (!changed) return undefined;
  if (!failure) {
    await clearFailures(client, changed);
    return { webhook: changed, batch: undefined };
  }
  const batch = await recordBatch(client, batchOf([verificationFailed(changed, failure)]), room);
  return { webhook: changed, batch };
}

/**
 * Makes the verification of every unverified webhook of an organization due, now that the organization is no longer
 * stopped. While it was stopped, outcomes of verifications were refused, and no row shows whether one was in flight.
 */
export async function verifyAgain(client: Queryable, organizationId: string): Promise<void> {
  await client.query({
    text: `
  update posthorn.webhooks set verify_at = clock_timestamp() where organization_id = $1 and status = 'unverified'`,
    values: [organizationId],
  });
}

function firstRetry(now: Date): WebhookChange {
  return { verifications: 0, verify_at: new Date(now.getTime() + reverifyAfterMs[0]) };
}
