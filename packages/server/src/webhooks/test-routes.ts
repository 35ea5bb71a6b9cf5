import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { changesBetween } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import { type Catalogue, subjectTypeOf, unknownType } from '../catalogue/catalogue.js';
import { attemptErrors } from '../outcomes/outcome.js';
import type { Database } from '../postgres/database.js';
import { RequestSchema, ResponseHeadersSchema } from '../sending/request.js';
import { type InputFault, Problem } from '../values/problem.js';
import { nullable } from '../web/schemas.js';
import { countTest } from './probe-store.js';
import type { DeliveryControl } from './probes.js';
import { testsPerMinuteMax } from './webhook.js';
import { webhookEntry } from './webhook-audit.js';
import { findWebhook } from './webhook-lookup.js';
import { webhookParams } from './webhook-schemas.js';

const TestBody = Type.Object(
  {
    event_type: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Event type to send. The event has the sample payload of this type.',
      examples: ['invoice.finalized'],
    }),
  },
  { additionalProperties: false },
);

const TestResultSchema = Type.Object(
  {
    id: Type.String({ pattern: '^WDLV-', description: 'Delivery ID, as in `X-Service-Delivery`.' }),
    webhook_id: Type.String({ pattern: '^WHK-', description: 'Webhook ID.' }),
    event_id: Type.String({ pattern: '^EVT-', description: 'Event ID, as in the body that was sent.' }),
    event_type: Type.String({ description: 'Event type.', examples: ['invoice.finalized'] }),
    status: Type.Enum(['success', 'failed'], {
      description: '`success` if the receiver returned 2xx in time.',
      examples: ['success'],
    }),
    http_status: Type.Union([Type.Integer(), Type.Null()], {
      description: 'HTTP status that the receiver returned. Null if no response arrived.',
      examples: [200],
    }),
    response_time_ms: Type.Integer({
      description: 'Duration of the attempt in milliseconds.',
      examples: [41],
    }),
    error: Type.Union([Type.Enum([...attemptErrors]), Type.Null()], {
      description: 'Why no response arrived. Null if a response arrived.',
      examples: [null],
    }),
    attempted_at: Type.String({ format: 'date-time', description: 'Time of the attempt.' }),
    error_detail: nullable(Type.String(), {
      description: 'What happened, in one or two sentences. Null for `success`.',
      examples: [null],
    }),
    remedy: nullable(Type.String(), {
      description: 'What to do about it, in one or two sentences. Null for `success`.',
      examples: [null],
    }),
    response: nullable(Type.String(), {
      description: 'First 1 KiB of the response body, as text.',
      examples: ['ok'],
    }),
    response_headers: ResponseHeadersSchema,
    request: RequestSchema,
  },
  { title: 'TestResult' },
);

export interface TestRouteOptions {
  database: Database;
  catalogue: Catalogue;
  control: DeliveryControl;
  now: () => number;
}

/** Adds `POST /v1/webhooks/{id}/test`. */
export function webhookTestRoute(
  app: FastifyInstance,
  { database, catalogue, control, now }: TestRouteOptions,
): void {
  app.post<{ Body: Static<typeof TestBody> }>(
    '/v1/webhooks/:webhook_id/test',
    {
      config: { scopes: ['webhooks:write', 'events:read'], check: typeFaults },
      schema: {
        operationId: 'testWebhook',
        tags: ['Webhooks'],
        summary: 'Send a test event',
        description:
          'Sends one signed request with a sample event and `"test": true`. You can test a webhook in any status, ' +
          'with any event type, at most 10 times per minute. Test events are not part of the event stream, the ' +
          'deliveries or the statistics.',
        params: webhookParams,
        body: TestBody,
        response: { 200: Type.Object({ data: TestResultSchema }) },
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
      const sample = catalogue.get(type)?.sample ?? {};
      // If the sample has no ID, the ID is `test`.
      const subject = { type: subjectTypeOf(type), id: typeof sample.id === 'string' ? sample.id : 'test' };
      return { data: await control.test(webhook, { type, sample, subject, actor: request.token.actor }) };
    },
  );

  function typeFaults(request: FastifyRequest): readonly InputFault[] {
    const type = (request.body as { event_type?: unknown } | undefined)?.event_type;
    if (typeof type !== 'string' || type === '' || catalogue.get(type)) return [];
    return [{ pointer: '/event_type', code: 'unknown_event_type', detail: unknownType(type, catalogue) }];
  }
}

function tooManyTests(): Problem {
  return new Problem('rate_limited', `A webhook can be tested ${testsPerMinuteMax} times per minute.`, {
    headers: { 'Retry-After': '60' },
  });
}
