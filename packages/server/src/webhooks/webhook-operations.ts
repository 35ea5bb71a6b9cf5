import { randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { changesBetween } from '../audit/audit.js';
import { subjectTypeOf } from '../catalogue/catalogue.js';
import type { EventContext } from '../events/event-routes.js';
import { batchOf, recordBatch } from '../events/recording-store.js';
import { levelFor } from '../signals/reported-error.js';
import { newId } from '../values/identifier.js';
import { Problem, rateLimited } from '../values/problem.js';
import type { SecretBox } from '../values/secret-box.js';
import { parseInstantMs } from '../values/time.js';
import { storedFilter } from './filter.js';
import { storedFormat } from './format.js';
import { clearFailures, countTest, settleVerification } from './probe-store.js';
import type { DeliveryControl } from './probes.js';
import * as webhooks from './webhook.js';
import { changedHeaders, movedHeaders, replacedHeaders, sealHeaders } from './webhook-headers.js';
import type { InputContext } from './webhook-input.js';
import type { CreateBody, PatchBody } from './webhook-schemas.js';
import { changeWebhook, createWebhook, disableWebhook, type WebhookChange } from './webhook-store.js';
import * as writes from './webhook-writes.js';

export interface WebhookContext extends InputContext, EventContext {
  secrets: SecretBox;
  control: DeliveryControl;
  /** How many webhooks an organization can have. */
  webhooksMax: number;
}

/** Creates a webhook and verifies it. Returns it as the response shows it. */
export async function create(
  context: WebhookContext,
  request: FastifyRequest,
  body: Static<typeof CreateBody>,
): Promise<object & { id: string }> {
  const { database, secrets, now, webhooksMax } = context;
  const { organization_id, workspace_id = null } = request.tenancy;
  const { url, description = null, rate_limit = null, retry_schedule = null } = body;
  const { expires_at = null, headers = null, filter = null } = body;
  const id = newId('WHK', now());
  const secret = body.secret ?? generatedSecret();
  const asked = {
    id,
    organization_id,
    workspace_id,
    url,
    description,
    rate_limit,
    retry_schedule,
    event_types: webhooks.distinctTypes(body.event_types),
    created_at: new Date(now()),
    secret: secrets.seal(secret, id),
    expires_at: timeOf(expires_at),
    status: body.status ?? ('unverified' as const),
    disabled_reason: body.status ? ('manual' as const) : null,
    ...sealHeaders(replacedHeaders(headers, {}), id, secrets),
    ...storedFilter(filter),
    ...storedFormat(body, { format: 'envelope', template: null }),
  };
  const webhook = await writes.writeWebhook(database, request, async (client) => {
    const created = await createWebhook(client, asked, webhooksMax);
    if (!created)
      throw new Problem('too_many_webhooks', `An organization can have at most ${webhooksMax} webhooks.`);
    // Without the status of a webhook that is yet to be verified: it is known only after the verification.
    const { status, ...others } = writes.ownFields(created);
    const changes = changesBetween(undefined, body.status ? { status, ...others } : others);
    const response = {
      status: 201,
      location: `/v1/webhooks/${id}`,
      body: { data: writes.createdBody(created) },
    };
    return { webhook: created, action: 'webhook.created', changes, response, result: created };
  });
  const shownSecret = body.secret === undefined && { secret };
  if (webhook.status === 'disabled') return { ...writes.createdBody(webhook), ...shownSecret };
  // The webhook exists, whatever happens now. If the result cannot be stored, the service verifies the webhook
  // again later.
  const verified = await settle(context, request, webhook, {}).catch((error) => {
    request.log[levelFor(error)](
      { request_id: request.id, webhook_id: id, reason: (error as Error).message },
      'the result of a verification could not be stored; the webhook will be verified again',
    );
  });
  return { ...writes.createdBody(verified ?? webhook), ...shownSecret };
}

/** Changes a webhook. Verifies it if it has a new URL or is activated, but not if it is only resumed. */
export async function change(
  context: WebhookContext,
  request: FastifyRequest,
  body: Static<typeof PatchBody>,
): Promise<webhooks.Webhook> {
  const { database, control, secrets } = context;
  const { event_types, expires_at, headers, filter, format, template, status, ...others } = body;
  const { url } = others;
  const webhook = await writes.findWebhook(database, request);
  const changes: WebhookChange = {
    ...others,
    ...(event_types !== undefined && { event_types: webhooks.distinctTypes(event_types) }),
    ...(expires_at !== undefined && { expires_at: timeOf(expires_at) }),
    ...(headers !== undefined && changedHeaders(webhook, headers, secrets)),
    ...(filter !== undefined && storedFilter(filter)),
    ...((format !== undefined || template !== undefined) && storedFormat(body, webhook)),
  };
  const refusal = movedHeaders(webhook, url, headers);
  if (refusal) throw refusal;
  // If many deliveries were waiting when the webhook was disabled, some may not have ended yet.
  if (webhook.status === 'disabled' && status === 'active') await control.endWaiting(webhook);
  if (status === 'paused' && !isReady(webhook))
    throw new Problem(
      'webhook_not_active',
      `The webhook is ${webhook.status}. Only an active webhook can be paused.`,
    );
  const verifies =
    (status === 'active' && webhook.status !== 'paused') ||
    (url !== undefined && webhook.status !== 'disabled');
  const changed =
    verifies && status !== 'disabled'
      ? await settle(
          context,
          request,
          webhook,
          { ...changes, ...(status && { status }) },
          writes.changeAction,
        )
      : await changeUnverified(context, request, webhook, changes, status);
  if (!changed) {
    const detail = 'Another request changed or deleted the webhook. Get the webhook and try again.';
    throw new Problem('webhook_changed', detail);
  }
  await control.forgetEverywhere(webhook);
  return changed;
}

/**
 * Writes a change without verifying the webhook, and disables, pauses or resumes it if asked to. Returns undefined if
 * another request's change rules this out.
 */
async function changeUnverified(
  { database, control }: WebhookContext,
  request: FastifyRequest,
  seen: webhooks.Webhook,
  change: WebhookChange,
  status: webhooks.WebhookStatus | undefined,
): Promise<webhooks.Webhook | undefined> {
  const written = await writes.writeWebhook(database, request, async (client) => {
    const webhook = await writes.findWebhook(client, request, true);
    const refused = { webhook, changes: {}, result: undefined };
    // The headers could contain values that have been replaced since, or be new ones that must not go to the new URL.
    const isChecked = change.headers === undefined && change.url === undefined;
    if (!isChecked && webhook.revision !== seen.revision) return refused;
    const disables = status === 'disabled';
    // Only an active webhook can be paused, and only a paused one resumed: any other must be verified first.
    if (status !== undefined && !disables && !isReady(webhook)) return refused;
    // The webhook has been activated since, so its new URL would receive events without being verified.
    if (!disables && change.url !== undefined && webhook.status !== 'disabled') return refused;
    const disabledNow = disables && (await disableWebhook(client, webhook, 'manual'));
    if (webhook.status === 'paused' && status === 'active') await clearFailures(client, webhook);
    const stated = { ...change, ...(status && !disables && { status }) };
    const changed = await changeWebhook(client, webhook, stated);
    if (!changed) {
      if (disables) throw writes.noWebhook();
      return refused;
    }
    const batch = disabledNow
      ? await recordBatch(client, batchOf([webhooks.webhookDisabled(webhook, 'manual')]), control.room())
      : undefined;
    const changes = writes.webhookChanges(webhook, changed);
    return { webhook, action: writes.changeAction(webhook, changed), changes, result: { changed, batch } };
  });
  if (written?.batch) control.accept(written.batch);
  return written?.changed;
}

const isReady = ({ status }: webhooks.Webhook) => status === 'active' || status === 'paused';

/** Verifies a webhook again. Returns it as it is then. */
export async function verify(context: WebhookContext, request: FastifyRequest): Promise<webhooks.Webhook> {
  const { database, control } = context;
  const webhook = await writes.findWebhook(database, request);
  if (webhook.status === 'disabled') {
    const detail = 'The webhook is disabled. To activate it, send PATCH with {"status": "active"}.';
    throw new Problem('webhook_not_active', detail);
  }
  const actionOf = (_before: webhooks.Webhook, after: webhooks.Webhook) =>
    after.status === 'unverified' || after.verification_failure
      ? webhooks.verificationFailedType
      : 'webhook.verified';
  const settled =
    (await settle(context, request, webhook, {}, actionOf)) ??
    // The result is discarded, because the webhook changed while it was being verified.
    (await writes.writeWebhook(database, request, async (client) => {
      const now = await writes.findWebhook(client, request);
      return { webhook: now, action: actionOf(now, now), changes: {}, result: now };
    }));
  if (settled.status !== webhook.status) await control.forgetEverywhere(webhook);
  return settled;
}

/**
 * Verifies the webhook as it will be after the change, then writes the result together with the change and its audit
 * log entry. Returns undefined if the webhook changed in the meantime.
 */
async function settle(
  { database, control, now }: WebhookContext,
  request: FastifyRequest,
  webhook: webhooks.Webhook,
  change: WebhookChange,
  actionOf?: (
    before: webhooks.Webhook,
    after: webhooks.Webhook,
  ) => NonNullable<writes.WebhookWrite<unknown>['action']>,
): Promise<webhooks.Webhook | undefined> {
  const { url = webhook.url, headers = webhook.headers, format = webhook.format } = change;
  const failure = await control.verify({ ...webhook, url, headers, format });
  const settled = await writes.writeWebhook(database, request, async (client) => {
    const at = new Date(now());
    const result = await settleVerification(client, webhook, failure, at, control.room(), { change });
    const after = result && actionOf && result.webhook;
    if (!after) return { webhook, changes: {}, result };
    return {
      webhook,
      action: actionOf(webhook, after),
      changes: writes.webhookChanges(webhook, after),
      result,
    };
  });
  if (settled?.batch) control.accept(settled.batch);
  return settled?.webhook;
}

/** Replaces the secret. Returns the webhook, and the new secret if it was generated. */
export async function rotate(
  { database, secrets, control, now }: WebhookContext,
  request: FastifyRequest,
  given: string | undefined,
  graceMs: number,
): Promise<object> {
  const secret = given ?? generatedSecret();
  const rotated = await writes.writeWebhook(database, request, async (client) => {
    const webhook = await writes.findWebhook(client, request, true);
    const previous_secret = graceMs > 0 ? secretBefore(webhook, given, secrets, now()) : null;
    const previous_secret_until = previous_secret && new Date(now() + graceMs);
    const sealed = secrets.seal(secret, webhook.id);
    const result = await changeWebhook(client, webhook, {
      secret: sealed,
      previous_secret,
      previous_secret_until,
      secret_rotated_at: new Date(now()),
    });
    if (!result) throw writes.noWebhook();
    const before = { previous_secret_until: webhook.previous_secret_until };
    const changes = changesBetween(before, { previous_secret_until });
    const response = { status: 200, body: { data: writes.webhookBody(result) } };
    return { webhook, action: 'webhook.secret_rotated', changes, response, result };
  });
  await control.forgetEverywhere(rotated);
  return { ...writes.webhookBody(rotated), ...(given === undefined && { secret }) };
}

/** Returns the secret that stays valid during the grace period, as it is stored; null if there is none. */
function secretBefore(
  webhook: webhooks.Webhook,
  given: string | undefined,
  secrets: SecretBox,
  nowMs: number,
): Buffer | null {
  const { secret, previous_secret, previous_secret_until } = webhook;
  try {
    // A request that is repeated because its response was lost must not replace the secret that receivers still use.
    if (secrets.open(secret, webhook.id) !== given) return secret;
    return previous_secret_until && previous_secret_until.getTime() > nowMs ? previous_secret : null;
  } catch {
    // No key decrypts the stored secret, so nothing can be signed with it. A rotation is the way out.
    return null;
  }
}

/** Sends a test event with the sample of its type. */
export async function test(
  { database, catalogue, control, now }: WebhookContext,
  request: FastifyRequest,
  type: string,
): Promise<object> {
  const webhook = await writes.findWebhook(database, request);
  await writes.writeWebhook(database, request, async (client) => {
    if (!(await countTest(client, webhook, new Date(now()), webhooks.testsPerMinuteMax))) {
      const detail = `A webhook can be tested ${webhooks.testsPerMinuteMax} times per minute.`;
      throw rateLimited(detail, 60);
    }
    const changes = changesBetween(undefined, { event_type: type });
    return { webhook, action: 'webhook.tested', changes, result: undefined };
  });
  const { actor } = request.token;
  const sample = catalogue.get(type)?.sample ?? {};
  // If the sample has no ID, the ID is `test`.
  const subject = { type: subjectTypeOf(type), id: typeof sample.id === 'string' ? sample.id : 'test' };
  return control.test(webhook, { type, sample, subject, actor });
}

const timeOf = (text: string | null) => (text === null ? null : new Date(parseInstantMs(text, 'start')!));

const generatedSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
