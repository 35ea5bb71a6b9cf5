import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { storeWithWrite } from '../access/idempotency.js';
import { type Changes, changesBetween, entryAbout } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import { diagnose } from '../outcomes/diagnosis.js';
import type { Database, Queryable } from '../postgres/database.js';
import { refusalOf } from '../postgres/database-errors.js';
import { Problem } from '../values/problem.js';
import { settleVerification, takeDueVerifications } from './probe-store.js';
import type { DeliveryControl } from './probes.js';
import { type About, serviceActor, type Webhook } from './webhook.js';
import { deleteExpired, readWebhook, type VisibleWebhookKey } from './webhook-store.js';

/** Returns the key of the webhook in the path, limited to what the token may see. */
export function webhookKey({ params, token }: FastifyRequest): VisibleWebhookKey {
  const { webhook_id: id } = params as { webhook_id: string };
  return { id, organization_id: token.organization_id, only_workspace_id: token.workspace_id ?? undefined };
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

type WebhookAction = `webhook.${string}`;

/** What a request has written about a webhook. */
export interface WebhookWrite<Result> {
  result: Result;
  webhook: About;
  /** Absent if nothing has changed that the audit log shows. */
  action?: WebhookAction;
  changes: Changes;
  /** What a repeated request gets. Its secret is left out. */
  response?: { status: number; body: { data: object }; location?: string };
}

/**
 * Runs what a request writes about a webhook in one transaction, with its audit log entry and with the response to a
 * request that is repeated with the same `Idempotency-Key`.
 */
export function writeWebhook<Result>(
  database: Database,
  request: FastifyRequest,
  work: (client: Queryable) => Promise<WebhookWrite<Result>>,
): Promise<Result> {
  return auditedWrite(database, request.token.organization_id, async (client) => {
    const { result, webhook, action, changes, response } = await work(client);
    if (action) {
      const { token, id: request_id, sourceAddress: source_address } = request;
      const origin = { actor: token.actor, request_id, source_address };
      await writeAudit(client, [entryAbout('webhook', webhook, action, changes, origin)]);
    }
    if (response) await storeWithWrite(client, request, response);
    return result;
  });
}

/** Returns the fields of a webhook that go into the audit log. Secrets and the values of headers never do. */
function auditedFields(webhook: Webhook) {
  const { url, event_types, status, disabled_reason, description, rate_limit, header_names } = webhook;
  const { retry_schedule, expires_at, format } = webhook;
  const headers = header_names.length === 0 ? null : header_names;
  const [filter, template] = [parsed(webhook.filter), parsed(webhook.template)];
  const subscription = { event_types, filter, format, template };
  const limits = { rate_limit, retry_schedule, expires_at };
  return { url, ...subscription, status, disabled_reason, description, ...limits, headers };
}

/** Returns the audited fields of a webhook that is created or deleted, without the default of `format`. */
export function ownFields(webhook: Webhook) {
  const fields = auditedFields(webhook);
  return { ...fields, format: fields.format === 'envelope' ? null : fields.format };
}

/** Returns the action that a change of a webhook is in the audit log. */
export function changeAction(before: Webhook, after: Webhook): WebhookAction {
  if (after.status === 'paused' && before.status !== 'paused') return 'webhook.paused';
  return before.status === 'paused' && after.status === 'active' ? 'webhook.resumed' : 'webhook.updated';
}

const parsed = (json: string | null) => (json === null ? null : (JSON.parse(json) as object));

/** Returns the audited fields that differ. */
export function webhookChanges(before: Webhook, after: Webhook): Changes {
  const [from, to] = [auditedFields(before), auditedFields(after)];
  return {
    ...changesBetween(from, to),
    // Included even if only a value has changed: the entry shows that the headers changed, but not the values.
    // Encrypting a value twice gives different bytes, so setting the same value counts as a change.
    ...(before.headers?.toString('hex') !== after.headers?.toString('hex') && {
      headers: { from: from.headers, to: to.headers },
    }),
  };
}

/** How long a request to create a webhook takes at most, with its verification. */
const creationMsMax = 30_000;

type Failure = NonNullable<Webhook['verification_failure']>;

/** Returns a failure as the API shows it, with its diagnosis. Restores the field order, which the database loses. */
function failureBody(failure: Failure, { url, created_at, secret_rotated_at: secretRotatedAt }: Webhook) {
  const { at, reason, http_status, duration_ms, response } = failure;
  const attempted_at = new Date(at);
  const diagnosis = diagnose({
    purpose: 'verification',
    isAtCreation: attempted_at.getTime() - created_at.getTime() < creationMsMax,
    ...failure,
    attempted_at,
    url,
    error: http_status === null ? reason : null,
    secretRotatedAt,
  });
  return { at, reason, http_status, duration_ms, response, ...diagnosis };
}

/** Returns a webhook as the API shows it. It never contains a secret or the value of a header. */
export function webhookBody(webhook: Webhook) {
  const { id, organization_id, workspace_id, url, description, status, disabled_reason, event_types } =
    webhook;
  const { format, rate_limit, retry_schedule, expires_at, created_at, last_delivery_at } = webhook;
  const { last_delivery_status, failing_since, verification_failure, previous_secret_until } = webhook;
  const isUnproven = status === 'unverified' || status === 'paused';
  return {
    id,
    organization_id,
    workspace_id,
    url,
    description,
    status,
    disabled_reason,
    event_types,
    filter: parsed(webhook.filter),
    format,
    template: parsed(webhook.template),
    rate_limit,
    retry_schedule,
    expires_at,
    headers: Object.fromEntries(webhook.header_names.map((name) => [name, null])),
    created_at,
    last_delivery_at,
    last_delivery_status,
    failing_since,
    verification_failure:
      isUnproven && verification_failure ? failureBody(verification_failure, webhook) : null,
    previous_secret_until,
  };
}

/** Returns the body of a new webhook, without the fields that have no value yet. */
export function createdBody(webhook: Webhook) {
  const { last_delivery_at, last_delivery_status, failing_since, previous_secret_until, ...data } =
    webhookBody(webhook);
  return data;
}

export interface JobContext extends Pick<DeliveryControl, 'verify' | 'room' | 'accept' | 'forgetEverywhere'> {
  database: Database;
  logger: Logger;
  now: () => number;
}

/** How many webhooks are verified at the same time. */
const verifiedAtOnce = 20;

/** Verifies unverified webhooks again if it is time. */
export async function verifyDue(context: JobContext): Promise<void> {
  const { database, now } = context;
  const due = await takeDueVerifications(database, new Date(now()), verifiedAtOnce);
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
    const origin = { actor: serviceActor, request_id: null, source_address: null };
    const changes = changesBetween(auditedFields(webhook), undefined);
    await writeAudit(client, [entryAbout('webhook', webhook, 'webhook.deleted', changes, origin)]);
    return webhook;
  });
}
