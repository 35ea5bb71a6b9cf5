import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Database } from '../postgres/database.js';
import { bindingOf } from '../values/cursor.js';
import { idTimeMs } from '../values/identifier.js';
import { type InputFault, Problem } from '../values/problem.js';
import { etagOf, matchesEtag } from '../web/compression.js';
import { cursorFaults, orderParameter, positionOf, sendPage } from '../web/page-request.js';
import { rangeFaults, rangeOf } from '../web/range.js';
import {
  cursorParameter,
  EventSchema,
  eventFilters,
  limitParameter,
  PageMeta,
  timeRange,
} from '../web/schemas.js';
import { tenancyOf } from '../web/tenancy.js';
import { eventJson } from './event.js';
import { type EventFilter, type EventReads, readEvent, readEventPage } from './event-store.js';

const pageSize = 25;

const EventQuery = Type.Object(
  {
    ...eventFilters,
    ...timeRange,
    order: orderParameter('event'),
    cursor: cursorParameter,
    limit: limitParameter(pageSize),
  },
  { additionalProperties: false },
);
type EventQuery = Static<typeof EventQuery>;

export function eventRoutes(
  app: FastifyInstance,
  database: Database,
  earliestMs: () => number,
  reads: EventReads,
): void {
  app.get<{ Querystring: EventQuery }>(
    '/v1/events',
    {
      config: { scopes: ['events:read'], check: queryFaults },
      schema: {
        operationId: 'listEvents',
        tags: ['Events'],
        summary: 'List events',
        description:
          'Returns the events that match all filters, sorted by `created_at` and `id`, newest first by default.\n\n' +
          'Use this to browse events and to debug. To react to events, use a webhook instead of polling.',
        querystring: EventQuery,
        response: { 200: Type.Object({ data: Type.Array(EventSchema), meta: PageMeta }) },
      },
    },
    async (request, reply) => {
      const { query } = request;
      const tenancy = tenancyOf(request.token, query);
      const binding = bindingFor(query, request);
      const page = await readEventPage(
        database,
        filterOf(query, tenancy.workspace_id),
        query.order ?? 'desc',
        positionOf(query.cursor, binding),
        query.limit ?? pageSize,
        { reads },
      );
      return sendPage(reply, page.rows, page, binding);
    },
  );

  app.get<{ Params: { event_id: string } }>(
    '/v1/events/:event_id',
    {
      config: { scopes: ['events:read'], sends: ['ETag'] },
      schema: {
        operationId: 'getEvent',
        tags: ['Events'],
        summary: 'Get an event',
        description: 'Returns one event with its full payload.',
        params: Type.Object({
          event_id: Type.String({ description: 'Event ID.', examples: ['EVT-01JAB3C4D5E6F7G8H9J0K1M2N3'] }),
        }),
        headers: Type.Object({
          'If-None-Match': Type.Optional(
            Type.String({
              description: '`ETag` of a previous response. If the event has not changed, the status is 304.',
              examples: ['"h1Nq0dJ3v0m7T2yWc5kZbA"'],
            }),
          ),
        }),
        response: {
          200: Type.Object({ data: EventSchema }),
          304: Type.Null({ description: 'Not modified.' }),
        },
      },
    },
    async (request, reply) => {
      const { event_id: id } = request.params;
      const { token } = request;
      const createdMs = idTimeMs('EVT', id);
      const { organization_id, workspace_id } = token;
      const key = { id, organization_id, workspace_id: workspace_id ?? undefined, earliestMs: earliestMs() };
      const event =
        createdMs === undefined
          ? undefined
          : await reads((source) => readEvent(source, { ...key, createdMs }));
      if (!event)
        throw new Problem('not_found', 'The event does not exist, or it is past its retention period.');
      const body = `{"data":${eventJson(event)}}`;
      const etag = etagOf(body);
      reply.header('ETag', etag).header('Cache-Control', 'private, no-cache');
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.status(304).send();
      return reply.type('application/json; charset=utf-8').send(body);
    },
  );

  function filterOf(query: EventQuery, workspaceId: string | undefined): EventFilter {
    const { fromMs, toMs } = rangeOf(query);
    const { organization_id, type, subject_type, subject_id, actor_id } = query;
    const keptFromMs = earliestMs();
    return {
      organization_id,
      workspace_id: workspaceId,
      type,
      subject_type,
      subject_id,
      actor_id,
      toMs,
      fromMs: Math.max(fromMs ?? keptFromMs, keptFromMs),
    };
  }
}

function queryFaults(request: FastifyRequest): readonly InputFault[] {
  const query = request.query as EventQuery;
  return [...rangeFaults(query), ...cursorFaults(query.cursor, () => bindingFor(query, request))];
}

/** Binds a cursor to everything that defines the list: the filters and the token's workspace. */
function bindingFor(query: EventQuery, request: FastifyRequest): string {
  const { organization_id, type, subject_type, subject_id, actor_id } = query;
  const { fromMs: from, toMs: to } = rangeOf(query);
  return bindingOf('events', {
    organization_id,
    type,
    subject_type,
    subject_id,
    actor_id,
    from,
    to,
    workspace_id: query.workspace_id ?? request.token.workspace_id ?? undefined,
    order: query.order ?? 'desc',
  });
}
