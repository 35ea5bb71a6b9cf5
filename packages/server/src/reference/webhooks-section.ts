import Type from 'typebox';
import type { Catalogue } from '../catalogue/catalogue.js';
import { titleOf } from '../resources/resource-schema.js';
import type { Tag } from '../web/route.js';
import { plainSchema, type Schema } from './components.js';

const header = (name: string, description: string, more: { required?: false; example?: string } = {}) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  ...more,
});

/** The headers of webhook requests. docs/receive-webhooks.md lists the same headers. */
const deliveryHeaders = [
  header('User-Agent', '`Posthorn/` and the version.'),
  header(
    'Accept-Encoding',
    '`identity`: Posthorn stores the start of your response as text, so do not compress it.',
  ),
  header('webhook-id', 'Event ID. It is the same on every attempt.', {
    example: 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
  }),
  header('webhook-timestamp', 'Time when the request was sent, as a Unix timestamp in seconds.', {
    example: '1794735000',
  }),
  header(
    'webhook-signature',
    '`v1,` followed by a signature over the ID, timestamp and body, as defined by ' +
      '[Standard Webhooks](https://www.standardwebhooks.com). Contains two signatures, separated by a ' +
      'space, while the previous secret is still valid.',
  ),
  header('X-Service-Signature', '`sha256=` followed by the HMAC-SHA256 of the raw body in hexadecimal.'),
  header(
    'X-Service-Signature-Previous',
    'Like `X-Service-Signature`, but with the previous secret. Sent while that secret is still valid.',
    { required: false },
  ),
  header('X-Service-Subject', 'What the event is about: `<type>/<id>`.', {
    example: 'invoice/INV-01K1RB6W8Y0A2C4E6G8J0M2P4R',
  }),
  header('X-Service-Actor', 'Who caused the event: `<type>/<id>`.', { example: 'user/USR-ada' }),
  header(
    'X-Service-Delivery',
    'Delivery ID. Use it to get the delivery. Not sent with verification requests.',
    { example: 'WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3' },
  ),
  header('X-Service-Attempt', 'Number of the attempt, starting at 1. Not sent with verification requests.', {
    example: '1',
  }),
];

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
        parameters: deliveryHeaders,
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
