import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { storeWithWrite } from '../access/idempotency.js';
import { changesBetween } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import type { Catalogue } from '../catalogue/catalogue.js';
import { batchOf, recordBatch } from '../events/recording-store.js';
import type { Database } from '../postgres/database.js';
import { levelFor } from '../signals/reported.js';
import type { AddressPolicy } from '../values/address.js';
import { identifierPattern, newId } from '../values/identifier.js';
import { type InputFault, inputProblem, Problem } from '../values/problem.js';
import type { SecretBox } from '../values/secret-box.js';
import { tenancyOf } from '../web/tenancy.js';
import type { DeliveryControl } from './probes.js';
import { generatedSecret, secretFaults } from './secret-routes.js';
import { subscribedTypesFaults } from './subscribed-types.js';
import { verifyAndSettle } from './verify-routes.js';
import { distinctTypes, type Webhook, webhookDisabled } from './webhook.js';
import { auditedFields, changedEntry, webhookEntry } from './webhook-audit.js';
import {
  type GivenHeaders,
  keptHeaderFaults,
  openHeaders,
  replacedHeaders,
  type SealedHeaders,
  sealHeaders,
} from './webhook-headers.js';
import { createdBody, findWebhook, noWebhook, webhookBody, webhookKey } from './webhook-lookup.js';
import {
  CreatedWebhookSchema,
  customHeaderFaults,
  EventTypesField,
  eventTypesFaults,
  SecretField,
  settingFields,
  UrlField,
  WebhookSchema,
  webhookParams,
} from './webhook-schemas.js';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  disableWebhook,
  type WebhookChange,
} from './webhook-store.js';
import { checkWebhookUrl } from './webhook-url.js';

export interface WebhookRoutesOptions {
  database: Database;
  catalogue: Catalogue;
  policy: AddressPolicy;
  secrets: SecretBox;
  control: DeliveryControl;
  now: () => number;
  /** How many webhooks an organization can have. */
  webhooksMax: number;
}

const CreateBody = Type.Object(
  {
    organization_id: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Organization ID. The token must belong to this organization.',
      examples: ['ORG-demo'],
    }),
    workspace_id: Type.Optional(
      Type.Union([Type.String({ pattern: identifierPattern.workspace }), Type.Null()], {
        description:
          'Workspace ID. If set, the webhook receives only events from this workspace. Otherwise, it receives ' +
          'events from the whole organization.',
      }),
    ),
    url: UrlField,
    event_types: EventTypesField,
    secret: Type.Optional(SecretField),
    ...settingFields,
  },
  { additionalProperties: false },
);

const PatchBody = Type.Object(
  {
    url: Type.Optional(UrlField),
    event_types: Type.Optional(EventTypesField),
    ...settingFields,
    status: Type.Optional(
      Type.Enum(['active', 'disabled'], {
        description:
          '`disabled` stops deliveries immediately. `active` verifies the webhook again; if that fails, the webhook ' +
          'becomes `unverified`.',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1, examples: [{ event_types: ['invoice.*'] }] },
);

export function webhookRoutes(app: FastifyInstance, options: WebhookRoutesOptions): void {
  const { database, catalogue, policy, secrets, control, now, webhooksMax } = options;

  app.post<{ Body: Static<typeof CreateBody> }>(
    '/v1/webhooks',
    {
      config: {
        scopes: ['webhooks:write', 'events:read'],
        check: (request) => bodyFaults(request, false),
        idempotent: true,
        sends: ['Location'],
        refusals: ['organization_forbidden', 'workspace_forbidden', 'too_many_webhooks'],
      },
      schema: {
        operationId: 'createWebhook',
        tags: ['Webhooks'],
        summary: 'Create a webhook',
        description:
          'Sends a signed `webhook.verification` request to the URL and waits up to 5 seconds for the result. If your ' +
          'receiver returns 200, the webhook is `active`. Otherwise, it is `unverified`, and the service tries ' +
          'again later.\n\nYour receiver needs the secret to verify this request, so choose the secret yourself.',
        body: CreateBody,
        response: { 201: Type.Object({ data: CreatedWebhookSchema }) },
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
        event_types: distinctTypes(body.event_types),
        created_at: new Date(now()),
        secret: secrets.seal(secret, id),
        description: body.description ?? null,
        rate_limit: body.rate_limit ?? null,
        ...sealHeaders(replacedHeaders(body.headers ?? null, {}), id, secrets),
      };
      const unverified: Webhook = { ...webhook, ...neverUsed, status: 'unverified' };
      // The entry does not contain the status, which is known only after the verification.
      const { status, ...given } = auditedFields(unverified);
      const changes = changesBetween(undefined, given);
      const location = `/v1/webhooks/${id}`;
      await auditedWrite(database, request.token.organization_id, async (client) => {
        if (!(await createWebhook(client, webhook, webhooksMax))) throw tooManyWebhooks(webhooksMax);
        await writeAudit(client, [webhookEntry(request, webhook, 'webhook.created', changes)]);
        const response = { status: 201, location, body: { data: createdBody(unverified) } };
        await storeWithWrite(client, request, response);
      });
      // The webhook exists, whatever happens now. If the result cannot be stored, the service verifies the webhook
      // again later.
      const verified = await verifyAndSettle(options, unverified).catch((error) => {
        request.log[levelFor(error)](
          { webhook_id: id, reason: (error as Error).message },
          'the result of a verification could not be stored; the webhook will be verified again',
        );
      });
      return reply
        .status(201)
        .header('Location', location)
        .send({
          data: { ...createdBody(verified ?? unverified), ...(body.secret === undefined && { secret }) },
        });
    },
  );

  app.get(
    '/v1/webhooks/:webhook_id',
    {
      config: { scopes: ['webhooks:read'] },
      schema: {
        operationId: 'getWebhook',
        tags: ['Webhooks'],
        summary: 'Get a webhook',
        description: 'Returns one webhook, without its secret or the values of its headers.',
        params: webhookParams,
        response: { 200: Type.Object({ data: WebhookSchema }) },
      },
    },
    async (request) => ({ data: webhookBody(await findWebhook(database, request)) }),
  );

  app.patch<{ Body: Static<typeof PatchBody> }>(
    '/v1/webhooks/:webhook_id',
    {
      config: {
        scopes: ['webhooks:write', 'events:read'],
        check: (request) => bodyFaults(request, true),
        refusals: ['webhook_changed'],
      },
      schema: {
        operationId: 'changeWebhook',
        tags: ['Webhooks'],
        summary: 'Update a webhook',
        description:
          'A new `url` is verified first. Until the result is known, events go to the old URL. If the ' +
          'verification fails, the webhook still changes to the new URL, but is `unverified` and receives no events.\n\n' +
          '`event_types` replaces all types. It can contain types that the webhook already has, even if the service no longer lists them.',
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
        ...(body.event_types !== undefined && { event_types: distinctTypes(body.event_types) }),
        ...(body.description !== undefined && { description: body.description }),
        ...(body.rate_limit !== undefined && { rate_limit: body.rate_limit }),
        ...(body.headers !== undefined && headersOf(webhook, body.headers)),
      };
      if (body.status === 'disabled') return { data: webhookBody(await disable(request, webhook, change)) };
      // If many deliveries were waiting when the webhook was disabled, some may not have ended yet.
      if (webhook.status === 'disabled' && body.status === 'active') await control.endWaiting(webhook);
      const verifies =
        body.status === 'active' || (change.url !== undefined && webhook.status !== 'disabled');
      const changed = verifies
        ? await verifyAndSettle(options, webhook, change, (settled) =>
            changedEntry(request, webhook, settled),
          )
        : await changeWithoutVerifying(request, webhook, change);
      if (!changed) throw changedMeanwhile();
      await control.forgetEverywhere(webhook);
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
        description:
          'Stops all deliveries. After the response, nothing more is sent, except for an attempt that is already in ' +
          'flight.',
        params: webhookParams,
        response: { 204: Type.Null({ description: 'Deleted.' }) },
      },
    },
    async (request, reply) => {
      const deleted = await auditedWrite(database, request.token.organization_id, async (client) => {
        const webhook = await deleteWebhook(client, webhookKey(request));
        if (!webhook) throw noWebhook();
        const changes = changesBetween(auditedFields(webhook), undefined);
        await writeAudit(client, [webhookEntry(request, webhook, 'webhook.deleted', changes)]);
        return webhook;
      });
      await control.forgetEverywhere(deleted);
      return reply.status(204).send();
    },
  );

  /** Writes a change without verifying the webhook. Returns undefined if another request's change rules this out. */
  async function changeWithoutVerifying(
    request: FastifyRequest,
    seen: Webhook,
    change: WebhookChange,
  ): Promise<Webhook | undefined> {
    return auditedWrite(database, request.token.organization_id, async (client) => {
      const webhook = await findWebhook(client, request, true);
      if (keepsOldHeaders(webhook, seen, change)) return undefined;
      // The webhook has been activated since, so its new URL would receive events without being verified.
      if (change.url !== undefined && webhook.status !== 'disabled') return undefined;
      const changed = await changeWebhook(client, webhook, change);
      if (changed) await writeAudit(client, [changedEntry(request, webhook, changed)]);
      return changed;
    });
  }

  async function disable(request: FastifyRequest, seen: Webhook, change: WebhookChange): Promise<Webhook> {
    const { changed, batch } = await auditedWrite(database, request.token.organization_id, async (client) => {
      const webhook = await findWebhook(client, request, true);
      if (keepsOldHeaders(webhook, seen, change)) throw changedMeanwhile();
      const now = await disableWebhook(client, webhook, 'manual');
      const changed = await changeWebhook(client, webhook, change);
      if (!changed) throw noWebhook();
      const disabled = batchOf([webhookDisabled(webhook, 'manual')]);
      const batch = now ? await recordBatch(client, disabled, control.room()) : undefined;
      await writeAudit(client, [changedEntry(request, webhook, changed)]);
      return { changed, batch };
    });
    if (batch) control.accept(batch);
    await control.forgetEverywhere(changed);
    return changed;
  }

  /** Returns the headers that replace those of the webhook. A name without a value keeps its stored value. */
  function headersOf(webhook: Webhook, given: GivenHeaders | null): SealedHeaders {
    const keeps = Object.values(given ?? {}).includes(null);
    const stored = keeps ? openHeaders(webhook.headers, webhook.id, secrets) : {};
    const faults = keptHeaderFaults(given ?? {}, stored);
    const problem = inputProblem(faults.map((one) => ({ ...one, pointer: `/headers${one.pointer}` })));
    if (problem) throw problem;
    return sealHeaders(replacedHeaders(given, stored), webhook.id, secrets);
  }

  /** Returns what is wrong with the body. With `canKeep`, it can name types and headers that the webhook already has. */
  async function bodyFaults(request: FastifyRequest, canKeep: boolean): Promise<readonly InputFault[]> {
    const body = (request.body ?? {}) as { url?: unknown; event_types?: unknown; headers?: unknown };
    const faults: InputFault[] = [...secretFaults(body)];
    if (typeof body.url === 'string') {
      const checked = checkWebhookUrl(body.url, policy);
      if (!checked.ok) faults.push({ pointer: '/url', ...checked.fault });
    }
    const types = canKeep
      ? await subscribedTypesFaults(database, catalogue, request)
      : eventTypesFaults(body.event_types, catalogue);
    return [...faults, ...types, ...customHeaderFaults(body.headers, canKeep)];
  }
}

/** Returns whether the headers of a change could contain values that have been replaced since. */
function keepsOldHeaders(webhook: Webhook, seen: Webhook, { headers }: WebhookChange): boolean {
  return headers !== undefined && webhook.revision !== seen.revision;
}

const neverUsed = {
  destination_changed_at: null,
  disabled_reason: null,
  last_delivery_at: null,
  last_delivery_status: null,
  verification_failure: null,
  previous_secret: null,
  previous_secret_until: null,
  revision: 1,
} as const;

function tooManyWebhooks(webhooksMax: number): Problem {
  const detail = `An organization can have at most ${webhooksMax} webhooks.`;
  return new Problem('too_many_webhooks', detail);
}

function changedMeanwhile(): Problem {
  return new Problem(
    'webhook_changed',
    'Another request changed or deleted the webhook. Get the webhook and try again.',
  );
}
