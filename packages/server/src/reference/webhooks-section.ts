import Type from 'typebox';
import type { Catalogue } from '../catalogue/catalogue.js';
import { titleOf } from '../resources/resource-schema.js';
import type { Tag } from '../web/route.js';
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

export const webhooksSectionTag: Tag = {
  name: receivedTag,
  description: 'The request that your receiver gets, for each event type.',
};

/**
 * Returns the OpenAPI `webhooks` section, with the request that a receiver gets for each event type, and the schemas
 * that it refers to.
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
        responses: {
          '2XX': {
            description: 'The event is delivered. To keep up with new events, respond within 3 seconds.',
          },
        },
      },
    };
    return [type, request] as const;
  });
  return { requests: Object.fromEntries(requests), schemas };
}

const components = '#/components/schemas/';

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
      Type.Literal(true, {
        description: 'Only present in test events. Do not act on them.',
      }),
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
