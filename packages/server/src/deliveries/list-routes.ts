import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { readEvent } from '../events/event-store.js';
import type { Database } from '../postgres/database.js';
import { pageOf } from '../postgres/keyset.js';
import { bindingOf, encodeCursor } from '../values/cursor.js';
import { idTimeMs } from '../values/identifier.js';
import { type InputFault, Problem } from '../values/problem.js';
import { cursorFaults, positionOf } from '../web/page-request.js';
import { rangeFaults, rangeOf } from '../web/range.js';
import { PageMeta } from '../web/schemas.js';
import { tenancyOf } from '../web/tenancy.js';
import { findWebhook } from '../webhooks/webhook-lookup.js';
import { webhookParams } from '../webhooks/webhook-schemas.js';
import { deliveryBody } from './delivery-body.js';
import { DeliverySchema, EventListQuery, ListQuery, WebhookListQuery } from './delivery-schemas.js';
import { type DeliveryFilter, type DeliveryPage, listDeliveries, listEventDeliveries } from './list-store.js';

const pageSize = 25;
const shortPages =
  'If only a few deliveries out of many match the filters, a page can be short or empty even though `has_more` is ' +
  'true. In that case, `meta.searched_to` shows how far back the search went. To continue, request the next ' +
  'page with `meta.cursor`.';
const SearchedPageMeta = Type.Object(
  {
    ...PageMeta.properties,
    searched_to: Type.Optional(
      Type.String({
        format: 'date-time',
        description:
          'How far back the search for this page went. Present if the page ended early because the search ' +
          'reached the maximum number of deliveries that it reads for one page.',
      }),
    ),
  },
  { title: 'SearchedPageMeta' },
);
const DeliveryList = Type.Object({ data: Type.Array(DeliverySchema), meta: SearchedPageMeta });

/** Adds the routes that list deliveries: to all webhooks, to one webhook, and of one event. */
export function deliveryListRoutes(app: FastifyInstance, database: Database, earliestMs: () => number): void {
  app.get<{ Querystring: ListQuery }>(
    '/v1/deliveries',
    {
      config: { scopes: ['webhooks:read'], check: queryFaults },
      schema: {
        operationId: 'listAllDeliveries',
        tags: ['Deliveries'],
        summary: 'List deliveries to all webhooks',
        description:
          'Returns the deliveries to all webhooks that the token can see, newest first. Deliveries without an attempt ' +
          'and those to deleted webhooks are not included. ' +
          shortPages,
        querystring: ListQuery,
        response: { 200: DeliveryList },
      },
    },
    async (request) => {
      const { query } = request;
      const tenancy = tenancyOf(request.token, query);
      return page({ ...tenancy, webhook_id: query.webhook_id }, query, bindingFor(request));
    },
  );

  app.get<{ Querystring: Static<typeof WebhookListQuery>; Params: { webhook_id: string } }>(
    '/v1/webhooks/:webhook_id/deliveries',
    {
      config: { scopes: ['webhooks:read'], check: queryFaults },
      schema: {
        operationId: 'listDeliveries',
        tags: ['Deliveries'],
        summary: 'List deliveries to a webhook',
        description: `Returns the deliveries to a webhook, newest first. Deliveries without an attempt are not included. ${shortPages}`,
        params: webhookParams,
        querystring: WebhookListQuery,
        response: { 200: DeliveryList },
      },
    },
    async (request) => {
      const { organization_id, id } = await findWebhook(database, request);
      return page({ organization_id, webhook_id: id }, request.query, bindingFor(request));
    },
  );

  app.get<{ Querystring: Static<typeof EventListQuery>; Params: { event_id: string } }>(
    '/v1/events/:event_id/deliveries',
    {
      config: { scopes: ['events:read', 'webhooks:read'], check: queryFaults },
      schema: {
        operationId: 'listEventDeliveries',
        tags: ['Deliveries'],
        summary: 'List deliveries of an event',
        description:
          'Returns the deliveries of one event to all webhooks that the token can see, newest first. This list also ' +
          'includes deliveries without an attempt, which are `pending`, and attempted deliveries to webhooks that ' +
          'have since been deleted. If such a delivery did not succeed, it is `failed` and `final`.',
        params: Type.Object({
          event_id: Type.String({ description: 'Event ID.', examples: ['EVT-01JAB3C4D5E6F7G8H9J0K1M2N3'] }),
        }),
        querystring: EventListQuery,
        response: { 200: DeliveryList },
      },
    },
    async (request) => {
      const { token, query } = request;
      const { event_id: id } = request.params;
      const workspace_id = token.workspace_id ?? undefined;
      const key = { id, organization_id: token.organization_id, workspace_id };
      const createdMs = idTimeMs('EVT', id);
      const event =
        createdMs === undefined
          ? undefined
          : await readEvent(database, { ...key, createdMs, earliestMs: earliestMs() });
      if (!event)
        throw new Problem('not_found', 'The event does not exist, or it is past its retention period.');
      const binding = bindingFor(request);
      const limit = query.limit ?? pageSize;
      const filter = { organization_id: token.organization_id, workspace_id, event };
      const after = positionOf(query.cursor, binding);
      return pageBody(pageOf(await listEventDeliveries(database, filter, after, limit + 1), limit), binding);
    },
  );

  async function page(
    of: Pick<DeliveryFilter, 'organization_id' | 'workspace_id' | 'webhook_id'>,
    query: Static<typeof WebhookListQuery>,
    binding: string,
  ) {
    const limit = query.limit ?? pageSize;
    const { fromMs, toMs } = rangeOf(query);
    const readableMs = earliestMs();
    const filter: DeliveryFilter = {
      ...of,
      status: query.status,
      final: query.final === undefined ? undefined : query.final === 'true',
      event_type: query.event_type,
      event: eventOf(query.event_id),
      fromMs: Math.max(fromMs ?? readableMs, readableMs),
      toMs,
    };
    const after = positionOf(query.cursor, binding);
    return pageBody(await listDeliveries(database, filter, after, limit), binding);
  }
}

function pageBody({ rows, hasMore, next, searchedToMs }: DeliveryPage, binding: string) {
  const data = rows.map((row) => deliveryBody(row, row.webhook_is_active));
  const cursor = next ? encodeCursor(next, binding) : null;
  const searched = searchedToMs !== undefined && { searched_to: new Date(searchedToMs).toISOString() };
  return { data, meta: { cursor, has_more: hasMore, ...searched } };
}

/** Returns the event to filter by. A malformed ID contains no time and matches no event. */
function eventOf(id: string | undefined) {
  return id === undefined ? undefined : { id, createdMs: idTimeMs('EVT', id) ?? 0 };
}

/** Binds a cursor to everything that defines the list: the filters and the token's organization and workspace. */
function bindingFor(request: FastifyRequest): string {
  const query = request.query as ListQuery;
  const params = request.params as { webhook_id?: string; event_id?: string };
  const { status, final, event_type } = query;
  const { fromMs: from, toMs: to } = rangeOf(query);
  return bindingOf('deliveries', {
    status,
    final,
    event_type,
    from,
    to,
    organization_id: request.token.organization_id,
    webhook_id: params.webhook_id ?? query.webhook_id,
    event_id: params.event_id ?? query.event_id,
    workspace_id: query.workspace_id ?? request.token.workspace_id ?? undefined,
    of: params.event_id ? 'event' : params.webhook_id ? 'webhook' : undefined,
  });
}

function queryFaults(request: FastifyRequest): readonly InputFault[] {
  const query = request.query as ListQuery;
  return [...rangeFaults(query), ...cursorFaults(query.cursor, () => bindingFor(request))];
}
