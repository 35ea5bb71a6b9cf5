import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { changesBetween } from '../domain/audit.js';
import type { Catalogue } from '../domain/catalogue.js';
import { attemptErrors } from '../domain/delivery.js';
import { type InputFault, Problem } from '../domain/problem.js';
import { testsPerMinuteMax } from '../domain/webhook.js';
import { writeAudit } from '../storage/audit.js';
import { auditedWrite } from '../storage/audited-writes.js';
import type { Database } from '../storage/database.js';
import { countTest } from '../storage/webhooks.js';
import type { Courier } from './courier.js';
import { webhookEntry } from './webhook-audit.js';
import { findWebhook } from './webhook-lookup.js';
import { webhookParams } from './webhook-schemas.js';

const TestBody = Type.Object(
  {
    event_type: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The type whose sample is sent.',
      examples: ['invoice.finalized'],
    }),
  },
  { additionalProperties: false },
);

const ReceiptSchema = Type.Object(
  {
    id: Type.String({ pattern: '^WDLV-', description: '`X-Service-Delivery` of the request.' }),
    webhook_id: Type.String({ pattern: '^WHK-', description: 'The webhook.' }),
    event_id: Type.String({ pattern: '^EVT-', description: 'The `id` in the body that was sent.' }),
    event_type: Type.String({ description: 'The type that was sent.', examples: ['invoice.finalized'] }),
    status: Type.Enum(['success', 'failed'], {
      description: 'Whether a 2xx came in time.',
      examples: ['success'],
    }),
    http_status: Type.Union([Type.Integer(), Type.Null()], {
      description: 'What the receiver answered; null where no status came.',
      examples: [200],
    }),
    response_time_ms: Type.Integer({ description: 'How long the attempt took.', examples: [41] }),
    error: Type.Union([Type.Enum([...attemptErrors]), Type.Null()], {
      description: 'Why no status came; null where one did.',
      examples: [null],
    }),
    attempted_at: Type.String({ format: 'date-time', description: 'When it was sent.' }),
  },
  { title: 'Receipt' },
);

export interface TestRouteOptions {
  database: Database;
  catalogue: Catalogue;
  courier: Courier;
  now: () => number;
}

/** `POST /v1/webhooks/{id}/test` */
export function webhookTestRoute(
  app: FastifyInstance,
  { database, catalogue, courier, now }: TestRouteOptions,
): void {
  app.post<{ Body: Static<typeof TestBody> }>(
    '/v1/webhooks/:webhook_id/test',
    {
      config: { scopes: ['webhooks:write'], check: typeFaults },
      schema: {
        operationId: 'testWebhook',
        tags: ['Webhooks'],
        summary: 'Send a test event',
        description:
          'One signed attempt with the type\'s sample and `"test": true`, whatever the status of the webhook. It is in ' +
          'no stream and no list. At most 10 a minute and webhook.',
        params: webhookParams,
        body: TestBody,
        response: { 200: Type.Object({ data: ReceiptSchema }) },
      },
    },
    async (request) => {
      const { event_type: type } = request.body;
      const webhook = await findWebhook(database, request);
      const changes = changesBetween(undefined, { event_type: type });
      await auditedWrite(database, request.token.organization_id, async (client) => {
        if (!(await countTest(client, webhook, new Date(now()), testsPerMinuteMax))) throw tooManyTests();
        await writeAudit(client, [webhookEntry(request, webhook, 'webhook.tested', changes)]);
      });
      return { data: await courier.test(webhook, type, catalogue.get(type)?.sample ?? {}) };
    },
  );

  function typeFaults(request: FastifyRequest): readonly InputFault[] {
    const type = (request.body as { event_type?: unknown } | undefined)?.event_type;
    if (typeof type !== 'string' || type === '' || catalogue.get(type)) return [];
    const nearest = catalogue.nearest(type);
    const hint = nearest ? `did you mean ${nearest}?` : 'GET /v1/event-types lists what is known';
    return [
      { pointer: '/event_type', code: 'unknown_event_type', detail: `is not in the catalogue; ${hint}` },
    ];
  }
}

function tooManyTests(): Problem {
  return new Problem('rate_limited', `A webhook can be tested ${testsPerMinuteMax} times a minute.`, {
    headers: { 'Retry-After': '60' },
  });
}
