import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import type { AddressPolicy } from '../domain/address.js';
import type { Catalogue } from '../domain/catalogue.js';
import { identifierPattern, newId } from '../domain/identifier.js';
import { webhookDisabled } from '../domain/own-event.js';
import { type InputFault, Problem } from '../domain/problem.js';
import type { SecretBox } from '../domain/secret-box.js';
import { normaliseEventTypes, type Webhook, webhooksPerOrganizationMax } from '../domain/webhook.js';
import { checkWebhookUrl } from '../domain/webhook-url.js';
import type { Database } from '../storage/database.js';
import { endWaiting } from '../storage/deliveries.js';
import { recordBatch } from '../storage/events.js';
import { settleVerification } from '../storage/verifications.js';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  disableWebhook,
  type WebhookChange,
} from '../storage/webhooks.js';
import type { Courier } from './courier.js';
import { tenancyOf } from './tenancy.js';
import { findWebhook, noWebhook, webhookBody, webhookKey } from './webhook-lookup.js';
import {
  EventTypesField,
  eventTypesFaults,
  NoBody,
  SecretField,
  UrlField,
  WebhookSchema,
  webhookParams,
} from './webhook-schemas.js';
import { generatedSecret } from './webhook-secret.js';

export interface WebhookRoutesOptions {
  database: Database;
  catalogue: Catalogue;
  policy: AddressPolicy;
  secrets: SecretBox;
  courier: Courier;
  now: () => number;
}

/** Deliveries that still wait for a webhook when it is disabled, in one statement. */
const endAtOnce = 1_000;

const CreateBody = Type.Object(
  {
    organization_id: Type.String({ minLength: 1, maxLength: 256, examples: ['ORG-demo'] }),
    workspace_id: Type.Optional(
      Type.Union([Type.String({ pattern: identifierPattern.workspace }), Type.Null()], {
        description: 'Only events of this workspace. Left out: of the whole organization.',
      }),
    ),
    url: UrlField,
    event_types: EventTypesField,
    secret: Type.Optional(SecretField),
  },
  { additionalProperties: false },
);

const PatchBody = Type.Object(
  {
    url: Type.Optional(UrlField),
    event_types: Type.Optional(EventTypesField),
    status: Type.Optional(
      Type.Enum(['active', 'disabled'], {
        description: '`active` verifies again and ends `unverified` where that fails.',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);

export function webhookRoutes(app: FastifyInstance, options: WebhookRoutesOptions): void {
  const { database, catalogue, policy, secrets, courier, now } = options;

  app.post<{ Body: Static<typeof CreateBody> }>(
    '/v1/webhooks',
    {
      config: {
        scopes: ['webhooks:write', 'events:read'],
        check: bodyFaults,
        idempotent: true,
        refusals: ['organization_forbidden', 'workspace_forbidden', 'too_many_webhooks'],
      },
      schema: {
        operationId: 'createWebhook',
        tags: ['Webhooks'],
        summary: 'Create a webhook',
        description:
          'Sends a signed `webhook.verification` request to the URL and waits for it, 5 s at most. Answered 200, the ' +
          'webhook is `active`; otherwise it is created `unverified` and tried again later. A receiver that checks ' +
          'signatures needs the secret before that request: give your own.',
        body: CreateBody,
        response: { 201: Type.Object({ data: WebhookSchema }) },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const tenancy = tenancyOf(request.token, body);
      const id = newId('WHK', now());
      const secret = body.secret ?? generatedSecret();
      const webhook = {
        id,
        organization_id: tenancy.organization_id,
        workspace_id: tenancy.workspace_id ?? null,
        url: body.url,
        event_types: checkedTypes(body.event_types),
        created_at: new Date(now()),
        secret: secrets.seal(secret, id),
      };
      const created = await database.transaction((client) => createWebhook(client, webhook));
      if (!created) {
        throw new Problem(
          'too_many_webhooks',
          `An organization has at most ${webhooksPerOrganizationMax} webhooks.`,
        );
      }
      const unverified: Webhook = { ...webhook, ...neverUsed, status: 'unverified' };
      const verified = (await verifyAndSettle(unverified)) ?? unverified;
      const { disabled_reason, last_delivery_at, last_delivery_status, ...data } = webhookBody(verified);
      return reply
        .status(201)
        .header('Location', `/v1/webhooks/${id}`)
        .send({ data: { ...data, ...(body.secret === undefined && { secret }) } });
    },
  );

  app.get(
    '/v1/webhooks/:webhook_id',
    {
      config: { scopes: ['webhooks:read'] },
      schema: {
        operationId: 'getWebhook',
        tags: ['Webhooks'],
        summary: 'Read one webhook',
        params: webhookParams,
        response: { 200: Type.Object({ data: WebhookSchema }) },
      },
    },
    async (request) => ({ data: webhookBody(await findWebhook(database, request)) }),
  );

  app.patch<{ Body: Static<typeof PatchBody> }>(
    '/v1/webhooks/:webhook_id',
    {
      config: { scopes: ['webhooks:write'], check: bodyFaults, refusals: ['webhook_changed'] },
      schema: {
        operationId: 'changeWebhook',
        tags: ['Webhooks'],
        summary: 'Change a webhook',
        description:
          'A new `url` is verified first; until then events go to the old one. It is kept whatever comes of that: where ' +
          'it fails, the webhook is `unverified` and gets nothing. `disabled` stops deliveries at once.',
        params: webhookParams,
        body: PatchBody,
        response: { 200: Type.Object({ data: WebhookSchema }) },
      },
    },
    async (request) => {
      const { body } = request;
      const webhook = await findWebhook(database, request);
      const change: WebhookChange = {
        ...(body.url !== undefined && { url: body.url }),
        ...(body.event_types !== undefined && { event_types: checkedTypes(body.event_types) }),
      };
      if (body.status === 'disabled') return { data: webhookBody(await disable(webhook, change)) };
      const verifies =
        body.status === 'active' || (change.url !== undefined && webhook.status !== 'disabled');
      const changed = verifies
        ? await verifyAndSettle(webhook, change)
        : await changeWebhook(database, webhook, change);
      if (!changed) throw changedMeanwhile();
      await courier.forgetEverywhere(webhook.id);
      return { data: webhookBody(changed) };
    },
  );

  app.delete(
    '/v1/webhooks/:webhook_id',
    {
      config: { scopes: ['webhooks:write'] },
      schema: {
        operationId: 'deleteWebhook',
        tags: ['Webhooks'],
        summary: 'Delete a webhook',
        description: 'Nothing is sent after the answer, but for an attempt that is on the wire.',
        params: webhookParams,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async (request, reply) => {
      const deleted = await deleteWebhook(database, webhookKey(request));
      if (!deleted) throw noWebhook();
      await courier.forgetEverywhere(deleted.id);
      return reply.status(204).send();
    },
  );

  app.post(
    '/v1/webhooks/:webhook_id/verify',
    {
      config: {
        scopes: ['webhooks:write'],
        idempotent: true,
        bodyIsOptional: true,
        refusals: ['webhook_not_active'],
      },
      schema: {
        operationId: 'verifyWebhook',
        tags: ['Webhooks'],
        summary: 'Verify a webhook again',
        description: 'Answers the webhook, whatever came of it.',
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
          'The webhook is disabled. PATCH it with {"status": "active"}.',
        );
      }
      const settled = (await verifyAndSettle(webhook)) ?? (await findWebhook(database, request));
      if (settled.status !== webhook.status) await courier.forgetEverywhere(webhook.id);
      return { data: webhookBody(settled) };
    },
  );

  /** Verifies the webhook as it will be, then writes what came of it together with the change. */
  async function verifyAndSettle(webhook: Webhook, change: WebhookChange = {}): Promise<Webhook | undefined> {
    const candidate = change.url === undefined ? webhook : { ...webhook, url: change.url };
    const failure = await courier.verify(candidate);
    const settled = await database.transaction((client) =>
      settleVerification(client, webhook, failure, new Date(now()), courier.placement(), { change }),
    );
    if (settled?.batch) courier.accept(settled.batch);
    return settled?.webhook;
  }

  async function disable(webhook: Webhook, change: WebhookChange): Promise<Webhook> {
    const { changed, batch } = await database.transaction(async (client) => {
      const now = await disableWebhook(client, webhook, 'manual');
      const changed = await changeWebhook(client, webhook, change);
      if (!now) return { changed, batch: undefined };
      const text = JSON.stringify([webhookDisabled(webhook, 'manual')]);
      return { changed, batch: await recordBatch(client, text, courier.placement()) };
    });
    if (batch) courier.accept(batch);
    if (!changed) throw noWebhook();
    await courier.forgetEverywhere(webhook.id);
    const end = { status: 'failed', error: 'disabled' } as const;
    while ((await endWaiting(database, webhook, end, endAtOnce)) === endAtOnce);
    return changed;
  }

  function bodyFaults(request: FastifyRequest): readonly InputFault[] {
    const body = (request.body ?? {}) as { url?: unknown; event_types?: unknown };
    const faults: InputFault[] = [];
    if (typeof body.url === 'string') {
      const checked = checkWebhookUrl(body.url, policy);
      if (!checked.ok) faults.push({ pointer: '/url', ...checked.fault });
    }
    return [...faults, ...eventTypesFaults(body.event_types, catalogue)];
  }

  function checkedTypes(given: string | readonly string[]): readonly string[] {
    const types = normaliseEventTypes(given, catalogue);
    return types.ok ? types.value : [];
  }
}

const neverUsed = {
  disabled_reason: null,
  last_delivery_at: null,
  last_delivery_status: null,
  previous_secret: null,
  previous_secret_until: null,
  revision: 1,
} as const;

function changedMeanwhile(): Problem {
  return new Problem(
    'webhook_changed',
    'The webhook was changed or deleted by another request. Read it and try again.',
  );
}
