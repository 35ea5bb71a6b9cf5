import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type Catalogue, madeFrom } from '../catalogue/catalogue.js';
import { titleOf } from '../resources/resource-schema.js';
import type { Tag } from '../web/route.js';
import { encodedRoute, StaticContent } from '../web/static-content.js';
import { plainSchema, type Schema } from './components.js';
import { guide } from './guides.js';

/** Returns the headers of webhook requests, as the guide lists them. OpenAPI has another place for the content type. */
function deliveryHeaders(): readonly object[] {
  const [, table = ''] = /### Headers([^#]+)/.exec(guide('Receive webhooks').description) ?? [];
  return [...table.matchAll(/^\| (`.+`) \| (.+) \|$/gm)]
    .flatMap(([, names = '', meaning = '']) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => ({
        name,
        in: 'header',
        required: name !== 'X-Service-Signature-Previous',
        description: `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`,
        schema: { type: 'string' },
      })),
    )
    .filter(({ name }) => name !== 'Content-Type');
}

const receivedTag = 'Webhook requests';
const received = {
  '2XX': { description: 'The event is delivered. To keep up with new events, respond within 3 seconds.' },
  '4XX': { description: 'The event is sent again later. After 410, the webhook is disabled instead.' },
};

export const webhooksSectionTag: Tag = {
  name: receivedTag,
  description: 'The request that your receiver gets, for each event type.',
};

/**
 * Returns the request that a receiver gets for each event type, a callback that stands for all of them, and the schemas
 * that they refer to. `oapi-codegen` drops schemas that no path refers to, so the callback refers to all envelopes.
 */
export function webhooksSection(catalogue: Catalogue) {
  const schemas: Record<string, Schema> = {};
  const parameters = deliveryHeaders();
  const requests = catalogue.list().map(({ type, description, schema, sample, version = 1 }) => {
    const name = nameOf(type, schemas);
    schemas[`${name}Data`] = plainSchema(placed(schema, `${components}${name}Data`) as Schema);
    schemas[`${name}Envelope`] = plainSchema(envelope(type, `${components}${name}Data`) as Schema);
    const request = {
      post: {
        operationId: `receive_${type.replaceAll('.', '_')}`,
        tags: [receivedTag],
        summary: type,
        description: `${description} Version ${version} of the schema.`,
        security: [],
        parameters,
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: { $ref: `${components}${name}Envelope` },
              example: envelopeExample(type, sample),
            },
          },
        },
        responses: received,
      },
    };
    return [type, request] as const;
  });
  const envelopes = requests.map(
    ([type, { post }]) => [type, post.requestBody.content['application/json'].schema.$ref] as const,
  );
  schemas.Envelope = {
    description: 'The body of a webhook request.',
    oneOf: envelopes.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(envelopes) },
  };
  return { requests: Object.fromEntries(requests), callback, schemas };
}

const components = '#/components/schemas/';

const callback = {
  event: {
    '{$request.body#/url}': {
      post: {
        operationId: 'receiveEvent',
        tags: [receivedTag],
        summary: 'An event of a subscribed type',
        description: 'The request that the receiver gets for each event.',
        security: [],
        parameters: deliveryHeaders(),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: `${components}Envelope` } } },
        },
        responses: received,
      },
    },
  },
};

/** Returns `InvoicePaid` for `invoice.paid`. If two types would get the same name, adds a number. */
function nameOf(type: string, taken: Readonly<Record<string, Schema>>): string {
  const base = titleOf(type.replaceAll('.', '_'));
  let name = base;
  for (let number = 2; `${name}Data` in taken; number += 1) name = base + number;
  return name;
}

function envelope(type: string, dataRef: string) {
  return Type.Object({
    id: Type.String({
      description: 'Event ID. It is the same on every attempt: use it to detect duplicates.',
    }),
    type: Type.Literal(type),
    created_at: Type.String({
      format: 'date-time',
      description: 'Time when the event was recorded, in UTC.',
    }),
    organization_id: Type.String({ description: 'Organization ID.' }),
    workspace_id: Type.Union([Type.String(), Type.Null()], {
      description: 'Workspace ID. Null if the event concerns the whole organization.',
    }),
    data: Type.Unsafe({ $ref: dataRef }),
    test: Type.Optional(
      Type.Boolean({ description: 'Only present, and true, in test events. Do not act on them.' }),
    ),
  });
}

/** Returns the schema with its internal references adjusted to its location in the document. */
function placed(schema: unknown, place: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => placed(item, place));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      const isOwn = key === '$ref' && typeof value === 'string' && /^#(\/|$)/.test(value);
      return [key, isOwn ? place + value.slice(1) : placed(value, place)];
    }),
  );
}

/** Returns the body of a request that delivers an event of this type. */
function envelopeExample(type: string, sample: unknown) {
  return {
    id: 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
    type,
    created_at: '2026-11-15T09:30:00.000Z',
    organization_id: 'ORG-demo',
    workspace_id: 'WS-berlin',
    data: sample,
  };
}

/** Serves the AsyncAPI document of the event types at `/asyncapi.json`. */
export function serveEventsDocument(app: FastifyInstance, catalogue: Catalogue, version: string): void {
  const content = madeFrom(catalogue, (current) =>
    StaticContent.of(
      'application/json; charset=utf-8',
      JSON.stringify(eventsDocument(current, version), null, 2),
    ),
  );
  app.get('/asyncapi.json', { config: { open: true }, ...encodedRoute }, async (request, reply) =>
    content().send(request, reply),
  );
}

/** Returns the AsyncAPI 3.0 document: one channel, with a message for each event type. */
function eventsDocument(catalogue: Catalogue, version: string): object {
  // A discriminator is a string in AsyncAPI, so the union of all envelopes is left out.
  const { requests, schemas: all } = webhooksSection(catalogue);
  const { Envelope: _, ...schemas } = all;
  const nameOf = (type: string) => type.replaceAll('.', '_');
  const messages = catalogue.list().map((one) => {
    const { schema: payload, example } = requests[one.type]!.post.requestBody.content['application/json'];
    const message = {
      name: one.type,
      title: one.type,
      summary: one.description,
      contentType: 'application/json',
      payload,
      examples: [{ payload: example }],
      'x-schema-version': one.version ?? 1,
    };
    return [nameOf(one.type), message] as const;
  });
  const refs = (place: string) => messages.map(([name]) => [name, { $ref: `#/${place}/${name}` }] as const);
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Posthorn events',
      version,
      description: 'The events that webhooks deliver, as signed HTTP POST requests with a JSON body.',
    },
    defaultContentType: 'application/json',
    channels: {
      webhook: {
        address: null,
        description: 'The URL of a webhook.',
        messages: Object.fromEntries(refs('components/messages')),
      },
    },
    operations: {
      deliverEvent: {
        action: 'send',
        channel: { $ref: '#/channels/webhook' },
        summary: 'Deliver an event',
        messages: refs('channels/webhook/messages').map(([, ref]) => ref),
      },
    },
    components: { messages: Object.fromEntries(messages), schemas },
  };
}
