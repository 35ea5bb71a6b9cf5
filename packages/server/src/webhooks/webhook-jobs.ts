import type { Logger } from 'pino';
import { changesBetween } from '../audit/audit.js';
import { writeAudit } from '../audit/audit-store.js';
import type { Database } from '../postgres/database.js';
import { refusalOf } from '../postgres/database-errors.js';
import { settleVerification, takeDueVerifications } from './probe-store.js';
import type { DeliveryControl } from './probes.js';
import { serviceActor, type Webhook } from './webhook.js';
import { deleteExpired } from './webhook-store.js';
import { auditedFields } from './webhook-writes.js';

export interface JobContext extends Pick<DeliveryControl, 'verify' | 'room' | 'accept' | 'forgetEverywhere'> {
  database: Database;
  logger: Logger;
  now: () => number;
}

const atOnce = 20;

/** Verifies unverified webhooks again if it is time. */
export async function verifyDue(context: JobContext): Promise<void> {
  const { database, now } = context;
  const due = await takeDueVerifications(database, new Date(now()), atOnce);
  await Promise.all(due.map((webhook) => verifyAgain(context, webhook)));
}

async function verifyAgain(context: JobContext, webhook: Webhook): Promise<void> {
  const { database, now, verify, room, accept, forgetEverywhere } = context;
  const failure = await verify(webhook);
  const settled = await database
    .transaction((client) =>
      settleVerification(client, webhook, failure, new Date(now()), room(), { automatic: true }),
    )
    .catch((error) => {
      // The organization is moving to another cell. When the move ends, the webhook is verified again.
      if (!refusalOf(error)) throw error;
    });
  if (settled?.batch) accept(settled.batch);
  if (settled?.webhook.status === 'active') await forgetEverywhere(webhook);
}

/** Deletes webhooks that have expired, as a request does. */
export async function deleteDue(context: JobContext): Promise<void> {
  const ended: Promise<void>[] = [];
  for (let webhook = await deleteOne(context); webhook; webhook = await deleteOne(context)) {
    const { id: webhook_id, organization_id } = webhook;
    context.logger.info({ webhook_id, organization_id }, 'a webhook expired');
    ended.push(context.forgetEverywhere(webhook));
  }
  await Promise.all(ended);
}

function deleteOne({ database, now }: JobContext): Promise<Webhook | undefined> {
  return database.transaction(async (client) => {
    const webhook = await deleteExpired(client, new Date(now()));
    if (!webhook) return undefined;
    const { organization_id, workspace_id, id } = webhook;
    const origin = { actor: serviceActor, request_id: null, source_address: null };
    const what = { action: 'webhook.deleted', target: { type: 'webhook', id } };
    const changes = changesBetween(auditedFields(webhook), undefined);
    await writeAudit(client, [{ organization_id, workspace_id, ...origin, ...what, changes }]);
    return webhook;
  });
}
