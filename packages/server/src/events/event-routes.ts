import Type from 'typebox';
import type { Database } from '../postgres/database.js';
import { idTimeMs } from '../values/identifier.js';
import { Problem } from '../values/problem.js';
import { etagOf, matchesEtag } from '../web/compression.js';
import { list, pageSchema, sendPage } from '../web/lists.js';
import { type Route, route, type Tenancy } from '../web/route.js';
import { dataOf, EventSchema, eventFilters, text } from '../web/schemas.js';
import { eventJson, type StoredEvent } from './event.js';
import { type EventReads, type Horizons, readEvent, readEventPage } from './event-store.js';

export interface EventContext {
  database: Database;
  /** Returns the earliest time from which events can still be read. */
  earliestMs: () => number;
  eventReads: EventReads;
  horizons: Horizons;
}

export function eventRoutes({ database, earliestMs, eventReads, horizons }: EventContext): readonly Route[] {
  return [
    route('GET /v1/events', {
      operationId: 'listEvents',
      summary: 'List events',
      description:
        'Returns the events that match all filters, sorted by `created_at` and `id`, newest first by default.\n\n' +
        'Use this to browse events and to debug. To react to events, use a webhook instead of polling.',
      scopes: ['events:read'],
      ...list({ name: 'events', filters: eventFilters, earliestMs, ordered: 'event', limit: 25 }),
      returns: { 200: pageSchema(EventSchema) },
      handler: async ({ query, tenancy, input }, reply) => {
        const { order, after, limit, fromMs, toMs } = input;
        const filter = { ...query, ...tenancy, fromMs, toMs };
        const source = { reads: eventReads, horizons };
        const page = await readEventPage(database, filter, order, after, limit, source);
        return sendPage(reply, page.rows, page, input);
      },
    }),
    route('GET /v1/events/{event_id}', {
      operationId: 'getEvent',
      summary: 'Get an event',
      description: 'Returns one event with its full payload.',
      scopes: ['events:read'],
      headers: Type.Object({
        'If-None-Match': Type.Optional(
          text(
            '`ETag` of a previous response. If the event has not changed, the status is 304.',
            '"h1Nq0dJ3v0m7T2yWc5kZbA"',
          ),
        ),
      }),
      returns: { 200: dataOf(EventSchema), 304: Type.Null({ description: 'Not modified.' }) },
      sends: ['ETag'],
      handler: async ({ params: { event_id: id }, tenancy, headers }, reply) => {
        const event = await findEvent(eventReads, tenancy, id, earliestMs());
        const body = `{"data":${eventJson(event)}}`;
        const etag = etagOf(body);
        reply.header('ETag', etag).header('Cache-Control', 'private, no-cache');
        if (matchesEtag(headers['if-none-match'], etag)) return reply.status(304).send();
        return reply.type('application/json; charset=utf-8').send(body);
      },
    }),
  ];
}

/** Returns an event that the request may access. Throws a problem if there is none. */
export async function findEvent(
  reads: EventReads,
  { organization_id, workspace_id }: Tenancy,
  id: string,
  earliestMs: number,
): Promise<StoredEvent> {
  const createdMs = idTimeMs('EVT', id);
  const event =
    createdMs === undefined
      ? undefined
      : await reads((source) =>
          readEvent(source, { id, organization_id, workspace_id, createdMs, earliestMs }),
        );
  if (event) return event;
  throw new Problem('not_found', 'The event does not exist, or it is past its retention period.');
}
