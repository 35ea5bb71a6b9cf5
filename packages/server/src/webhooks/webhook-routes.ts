import Type from 'typebox';
import { changesBetween } from '../audit/audit.js';
import { eventJson } from '../events/event.js';
import { pageOf } from '../postgres/keyset.js';
import { list, pageBody, pageSchema } from '../web/lists.js';
import { type Route, route } from '../web/route.js';
import { dataOf, filter, ownOrganization } from '../web/schemas.js';
import { filterPath } from './filter.js';
import { bodyText } from './format.js';
import { PreviewBody, PreviewResult, TestBody, TestResult } from './probe-schemas.js';
import { previewWebhook } from './probe-store.js';
import { distinctTypes } from './webhook.js';
import { checkPreview, checkSecret, checkTestType, checkWebhook, readGrace } from './webhook-input.js';
import { change, create, rotate, test, verify, type WebhookContext } from './webhook-operations.js';
import * as schemas from './webhook-schemas.js';
import { deleteWebhook, listWebhooks } from './webhook-store.js';
import * as writes from './webhook-writes.js';

export function webhookRoutes(context: WebhookContext): readonly Route[] {
  const { database, catalogue, control, webhooksMax } = context;
  return [
    route('GET /v1/webhooks', {
      operationId: 'listWebhooks',
      summary: 'List webhooks',
      description: `Returns webhooks, newest first. An organization has at most ${webhooksMax}${webhooksMax <= 100 ? ', so one page contains all of them' : ''}.`,
      scopes: ['webhooks:read'],
      ...list({
        name: 'webhooks',
        filters: {
          organization_id: ownOrganization,
          workspace_id: filter('Return only webhooks in this workspace.', 'WS-berlin'),
        },
        limit: 100,
      }),
      returns: { 200: pageSchema(schemas.WebhookSchema) },
      handler: async ({ tenancy, input }) => {
        const rows = await listWebhooks(database, tenancy, input.after, input.limit + 1);
        return pageBody(pageOf(rows, input.limit), input, writes.webhookBody);
      },
    }),
    route('POST /v1/webhooks', {
      operationId: 'createWebhook',
      summary: 'Create a webhook',
      description:
        'Sends a signed `webhook.verification` request to the URL and waits up to 5 seconds for the result. If your ' +
        'receiver returns 200, the webhook is `active`. Otherwise, it is `unverified`, and the service tries ' +
        'again later.\n\nYour receiver needs the secret to verify this request, so choose the secret yourself.',
      scopes: ['webhooks:write', 'events:read'],
      idempotent: true,
      body: schemas.CreateBody,
      input: (arrived, faults) => checkWebhook(context, arrived, faults, false),
      returns: { 201: schemas.CreatedWebhook },
      sends: ['Location'],
      refusals: ['too_many_webhooks'],
      handler: async (request, reply) => {
        const data = await create(context, request, request.body);
        reply.header('Location', `/v1/webhooks/${data.id}`);
        return { data };
      },
    }),
    route('POST /v1/webhooks/preview', {
      operationId: 'previewWebhook',
      summary: 'Preview a webhook',
      description:
        'Returns which events of the last 24 hours, or of another time range, a webhook with these event types and this ' +
        'filter would have got. Examines the newest 10,000 events of the range, and fewer if they are large. Changes ' +
        'nothing.\n\nWith a `format`, each event shows the `body` as it would be sent.',
      scopes: ['events:read', 'webhooks:read'],
      body: PreviewBody,
      input: (arrived, faults) => checkPreview(context, arrived, faults),
      returns: { 200: PreviewResult },
      handler: async ({ body, tenancy, input }, reply) => {
        const { toMs = context.now(), fromMs = toMs - 86_400_000 } = input;
        const range = { ...tenancy, fromMs: Math.max(fromMs, context.earliestMs()), toMs };
        const path = body.filter ? filterPath(body.filter) : null;
        const { events, ...counts } = await context.eventReads((source) =>
          previewWebhook(source, range, distinctTypes(body.event_types), path),
        );
        const format = body.format ?? undefined;
        const template = body.template ? JSON.stringify(body.template) : null;
        const texts = events.map((event) => {
          const json = eventJson(event);
          if (!format) return json;
          return `${json.slice(0, -1)},"body":${JSON.stringify(bodyText({ format, template }, event))}}`;
        });
        const [from, to] = [range.fromMs, range.toMs].map((ms) => new Date(ms).toISOString());
        const head = JSON.stringify({ from, to, ...counts });
        return reply
          .type('application/json; charset=utf-8')
          .send(`{"data":${head.slice(0, -1)},"events":[${texts.join(',')}]}}`);
      },
    }),
    route('GET /v1/webhooks/{webhook_id}', {
      operationId: 'getWebhook',
      summary: 'Get a webhook',
      description: 'Returns one webhook, without its secret or the values of its headers.',
      scopes: ['webhooks:read'],
      returns: { 200: dataOf(schemas.WebhookSchema) },
      handler: async (request) => ({ data: writes.webhookBody(await writes.findWebhook(database, request)) }),
    }),
    route('PATCH /v1/webhooks/{webhook_id}', {
      operationId: 'changeWebhook',
      summary: 'Update a webhook',
      description:
        'A new `url` is verified first. Until the result is known, events go to the old URL. If the ' +
        'verification fails, the webhook still changes to the new URL, but is `unverified` and receives no events.\n\n' +
        '`event_types` replaces all types. It can contain types that the webhook already has, even if the service no longer lists them.',
      scopes: ['webhooks:write', 'events:read'],
      body: schemas.PatchBody,
      input: (arrived, faults) => checkWebhook(context, arrived, faults, true),
      returns: { 200: dataOf(schemas.WebhookSchema) },
      refusals: ['webhook_changed'],
      handler: async (request) => ({
        data: writes.webhookBody(await change(context, request, request.body)),
      }),
    }),
    route('DELETE /v1/webhooks/{webhook_id}', {
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook',
      description:
        'Stops all deliveries. After the response, nothing more is sent, except for an attempt that is already in ' +
        'flight.',
      scopes: ['webhooks:write'],
      returns: { 204: Type.Null({ description: 'Deleted.' }) },
      handler: async (request) => {
        const deleted = await writes.writeWebhook(database, request, async (client) => {
          const webhook = await deleteWebhook(client, writes.webhookKey(request));
          if (!webhook) throw writes.noWebhook();
          const changes = changesBetween(writes.ownFields(webhook), undefined);
          return { webhook, action: 'webhook.deleted', changes, result: webhook };
        });
        await control.forgetEverywhere(deleted);
      },
    }),
    route('POST /v1/webhooks/{webhook_id}/verify', {
      operationId: 'verifyWebhook',
      summary: 'Verify a webhook',
      description:
        'Sends the verification request again and waits up to 5 seconds for the result. If your receiver returns 200, ' +
        'the webhook is `active`. Otherwise it is `unverified`, and `verification_failure` says why.',
      scopes: ['webhooks:write', 'events:read'],
      idempotent: true,
      body: schemas.NoBody,
      bodyIsOptional: true,
      returns: { 200: dataOf(schemas.WebhookSchema) },
      refusals: ['webhook_not_active'],
      handler: async (request) => ({ data: writes.webhookBody(await verify(context, request)) }),
    }),
    route('POST /v1/webhooks/{webhook_id}/rotate-secret', {
      operationId: 'rotateSecret',
      summary: 'Rotate the secret',
      description:
        'Replaces the secret of the webhook. During the grace period, requests are signed with both secrets: ' +
        '`X-Service-Signature` uses the new one, ' +
        '`X-Service-Signature-Previous` the old one, and `webhook-signature` has both signatures.',
      scopes: ['webhooks:write'],
      idempotent: true,
      body: schemas.RotateBody,
      bodyIsOptional: true,
      input: (arrived, faults) => {
        checkSecret(arrived, faults);
        return readGrace(arrived, faults);
      },
      returns: { 200: schemas.RotatedWebhook },
      handler: async (request) => ({
        data: await rotate(context, request, request.body.secret, request.input),
      }),
    }),
    route('POST /v1/webhooks/{webhook_id}/test', {
      operationId: 'testWebhook',
      summary: 'Send a test event',
      description:
        'Sends one signed request with a sample event and `"test": true`. You can test a webhook in any status, ' +
        'with any event type, at most 10 times per minute. Test events are not part of the event stream, the ' +
        'deliveries or the statistics.',
      scopes: ['webhooks:write', 'events:read'],
      body: TestBody,
      input: (arrived, faults) => checkTestType(arrived, catalogue, faults),
      returns: { 200: TestResult },
      handler: async (request) => ({ data: await test(context, request, request.body.event_type) }),
    }),
  ];
}
