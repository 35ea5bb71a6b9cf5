import Type from 'typebox';
import type { Catalogue } from '../domain/catalogue.js';

const header = (name: string, description: string, more: { required?: false; example?: string } = {}) => ({
  ...{ name, in: 'header', required: true, description, schema: { type: 'string' }, ...more },
});

/** What every delivery has; those of docs/receive-webhooks.md. */
const headers = [
  header('User-Agent', '`Posthorn/` and the version.'),
  header('X-Service-Signature', '`sha256=` and the HMAC-SHA256 of the raw body in hexadecimal.'),
  header(
    'X-Service-Signature-Previous',
    'The same with the secret before, while the grace of a rotation lasts.',
    { required: false },
  ),
  header('webhook-id', "The event's id, the same on every attempt.", {
    example: 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
  }),
  header('webhook-timestamp', 'The time of sending, in seconds since 1970.', { example: '1794735000' }),
  header(
    'webhook-signature',
    '`v1,` and a signature over id, time and body, as [Standard Webhooks](https://www.standardwebhooks.com) defines ' +
      'it; two of them during a grace. Check this one: it also covers the time.',
  ),
  header(
    'X-Service-Delivery',
    'The delivery; look it up with [Read one delivery](#getDelivery). The verification request has none.',
    { example: 'WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3' },
  ),
  header('X-Service-Attempt', '1 to 5. The verification request has none.', { example: '1' }),
];

/** The OpenAPI `webhooks` section: what a receiver gets for each event type. */
export function webhooksSection(catalogue: Catalogue): Record<string, unknown> {
  return Object.fromEntries(
    catalogue.list().map(({ type, description, schema, sample }) => [
      type,
      {
        post: {
          operationId: `receive_${type.replaceAll('.', '_')}`,
          tags: ['Received webhooks'],
          summary: description,
          security: [],
          parameters: headers,
          requestBody: {
            content: {
              'application/json': { schema: envelope(type, schema), example: example(type, sample) },
            },
          },
          responses: { '2XX': { description: 'The event counts as delivered. Answer within 3 seconds.' } },
        },
      },
    ]),
  );
}

function envelope(type: string, schema: object) {
  return Type.Object({
    id: Type.String({ description: 'The event, `EVT-*`. The same on every attempt: deduplicate by it.' }),
    type: Type.Literal(type),
    created_at: Type.String({ format: 'date-time', description: 'When the event was recorded, UTC.' }),
    organization_id: Type.String({ description: 'Where it happened.' }),
    workspace_id: Type.Union([Type.String(), Type.Null()], {
      description: 'Null for events of the whole organization.',
    }),
    data: Type.Unsafe(placed(schema, dataOf(type)) as object),
    test: Type.Optional(
      Type.Literal(true, {
        description: 'On test events alone, otherwise absent. Act on no test event in earnest.',
      }),
    ),
  });
}

/** Where the schema of `data` lies in the document. Names of types need no escaping. */
function dataOf(type: string): string {
  return `#/webhooks/${type}/post/requestBody/content/application~1json/schema/properties/data`;
}

/** The schema with its references to itself made to lead to where it lies now. */
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

function example(type: string, sample: unknown) {
  return {
    id: 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
    type,
    created_at: '2026-11-15T09:30:00.000Z',
    organization_id: 'ORG-demo',
    workspace_id: 'WS-berlin',
    data: sample,
  };
}
