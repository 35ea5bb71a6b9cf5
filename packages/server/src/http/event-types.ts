import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Catalogue } from '../domain/catalogue.js';

const EventTypeSchema = Type.Object(
  {
    type: Type.String({ examples: ['invoice.finalized'] }),
    description: Type.String({ examples: ['An invoice moved from draft to open and is now owed.'] }),
    schema: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'JSON Schema of the payload.',
        examples: [{ type: 'object', properties: { currency: { type: 'string' } } }],
      },
    ),
    sample: Type.Object(
      {},
      { additionalProperties: true, description: 'A payload of this type.', examples: [{ currency: 'EUR' }] },
    ),
  },
  { title: 'EventType' },
);

export function eventTypeRoutes(app: FastifyInstance, catalogue: Catalogue): void {
  const body = JSON.stringify({
    data: catalogue
      .list()
      .map(({ type, description, schema, sample }) => ({ type, description, schema, sample })),
  });
  app.get(
    '/v1/event-types',
    {
      config: { scopes: ['events:read'] },
      schema: {
        operationId: 'listEventTypes',
        tags: ['Events'],
        summary: 'What can happen',
        description: 'Every event type with the JSON Schema of its payload and a sample.',
        response: { 200: Type.Object({ data: Type.Array(EventTypeSchema) }) },
      },
    },
    async (_request, reply) => reply.type('application/json; charset=utf-8').send(body),
  );
}
