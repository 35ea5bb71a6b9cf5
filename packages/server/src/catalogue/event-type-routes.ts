import Type from 'typebox';
import { type Route, route } from '../web/route.js';
import { dataOf, text, whole } from '../web/schemas.js';
import { type Catalogue, type EventType, madeFrom } from './catalogue.js';
import { builtinTypes } from './catalogue-file.js';

export const EventTypeSchema = Type.Object(
  {
    type: text('Event type, as in events and webhooks.'),
    description: text('What the event means.'),
    schema: Type.Object({}, { additionalProperties: true, description: 'JSON Schema of the payload.' }),
    sample: Type.Object({}, { additionalProperties: true, description: 'Example of a payload.' }),
    version: whole('Version of the schema. It increases when the schema changes.', 1),
  },
  { title: 'EventType' },
);

export function eventTypeRoutes(catalogue: Catalogue): readonly Route[] {
  const body = madeFrom(catalogue, (current) => JSON.stringify({ data: current.list().map(eventTypeBody) }));
  const examples = [{ data: builtinTypes().slice(0, 1).map(eventTypeBody) }];
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
      returns: { 200: dataOf(Type.Array(EventTypeSchema), { examples }) },
      handler: (_request, reply) => reply.type('application/json; charset=utf-8').send(body()),
    }),
  ];
}

export function eventTypeBody({ type, description, schema, sample, version = 1 }: EventType) {
  return { type, description, schema, sample, version };
}
