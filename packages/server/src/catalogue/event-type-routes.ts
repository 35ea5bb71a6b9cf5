import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Catalogue } from './catalogue.js';

const EventTypeSchema = Type.Object(
  {
    type: Type.String({ description: 'Event type, as in events and webhooks.' }),
    description: Type.String({ description: 'What the event means.' }),
    schema: Type.Object({}, { additionalProperties: true, description: 'JSON Schema of the payload.' }),
    sample: Type.Object({}, { additionalProperties: true, description: 'Example of a payload.' }),
  },
  { title: 'EventType' },
);

export function eventTypeRoutes(app: FastifyInstance, catalogue: Catalogue): void {
  const data = catalogue
    .list()
    .map(({ type, description, schema, sample }) => ({ type, description, schema, sample }));
  const body = JSON.stringify({ data });
  app.get(
    '/v1/event-types',
    {
      config: { scopes: ['events:read'], withoutDatabase: true },
      schema: {
        operationId: 'listEventTypes',
        tags: ['Events'],
        summary: 'List event types',
        description: 'Returns every event type, with the JSON Schema and an example of its payload.',
        response: {
          200: Type.Object({ data: Type.Array(EventTypeSchema) }, { examples: [{ data: data.slice(0, 1) }] }),
        },
      },
    },
    async (_request, reply) => reply.type('application/json; charset=utf-8').send(body),
  );
}
