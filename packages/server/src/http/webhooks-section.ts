import Type from 'typebox';
import type { Catalogue } from '../domain/catalogue.js';

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
          parameters: [
            {
              name: 'X-Service-Signature',
              in: 'header',
              required: true,
              description:
                '`sha256=` and the hex HMAC-SHA256 of the raw body, keyed with the secret of the webhook.',
              schema: { type: 'string' },
            },
          ],
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
    id: Type.String({ description: 'The same on every attempt: deduplicate by it.' }),
    type: Type.Literal(type),
    created_at: Type.String({ format: 'date-time' }),
    organization_id: Type.String(),
    workspace_id: Type.Union([Type.String(), Type.Null()]),
    data: Type.Unsafe(placed(schema, dataOf(type)) as object),
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
