import Type from 'typebox';
import { type Route, route } from '../web/route.js';
import { dataOf, text } from '../web/schemas.js';
import type { Catalogue } from './catalogue.js';

const EventType = Type.Object(
  {
    type: text('Event type, as in events and webhooks.'),
    description: text('What the event means.'),
    schema: Type.Object({}, { additionalProperties: true, description: 'JSON Schema of the payload.' }),
    sample: Type.Object({}, { additionalProperties: true, description: 'Example of a payload.' }),
  },
  { title: 'EventType' },
);

export function eventTypeRoutes(catalogue: Catalogue): readonly Route[] {
  const data = catalogue
    .list()
    .map(({ type, description, schema, sample }) => ({ type, description, schema, sample }));
  const body = JSON.stringify({ data });
  return [
    route({
      method: 'GET',
      path: '/v1/event-types',
      operationId: 'listEventTypes',
      tag: 'Events',
      summary: 'List event types',
      description: 'Returns every event type, with the JSON Schema and an example of its payload.',
      scopes: ['events:read'],
      withoutDatabase: true,
      returns: { 200: dataOf(Type.Array(EventType), { examples: [{ data: data.slice(0, 1) }] }) },
      handler: (_request, reply) => reply.type('application/json; charset=utf-8').send(body),
    }),
  ];
}
