import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { changesBetween } from '../audit/audit.js';
import { type EventContext, findEvent } from '../events/event-routes.js';
import type { Queryable } from '../postgres/database.js';
import { pageOf } from '../postgres/keyset.js';
import { idTimeMs } from '../values/identifier.js';
import { Problem } from '../values/problem.js';
import { type ListRequest, list, pageBody } from '../web/lists.js';
import { type Route, route } from '../web/route.js';
import { filter, ownOrganization } from '../web/schemas.js';
import type { Webhook } from '../webhooks/webhook.js';
import { NoBody } from '../webhooks/webhook-schemas.js';
import { findWebhook, writeWebhook } from '../webhooks/webhook-writes.js';
import { attemptLog, deliveryBody, sentRequest } from './delivery-body.js';
import * as schemas from './delivery-schemas.js';
import { bringForward, queueRedelivery, readDelivery, type StoredDelivery } from './delivery-store.js';
import * as lists from './list-store.js';
import { whyNotDelivered } from './not-delivered.js';

export interface DeliveryContext extends Pick<EventContext, 'database' | 'earliestMs'> {
  /** The `User-Agent` of deliveries. */
  userAgent: string;
}

const shortPages =
  'If only a few deliveries out of many match the filters, a page can be short or empty even though `has_more` is ' +
  'true. In that case, `meta.searched_to` shows how far back the search went. To continue, request the next ' +
  'page with `meta.cursor`.';

export function deliveryRoutes({ database, earliestMs, userAgent }: DeliveryContext): readonly Route[] {
  const name = 'deliveries';
  const limit = 25;
  return [
    route('GET /v1/deliveries', {
      operationId: 'listAllDeliveries',
      summary: 'List deliveries to all webhooks',
      description:
        'Returns the deliveries to all webhooks that the token can see, newest first. Deliveries without an attempt ' +
        'and those to deleted webhooks are not included. ' +
        shortPages,
      scopes: ['webhooks:read'],
      ...list({
        name,
        filters: {
          organization_id: ownOrganization,
          workspace_id: filter('Return only deliveries to webhooks in this workspace.', 'WS-berlin'),
          webhook_id: filter('Return only deliveries to this webhook.', 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'),
          ...schemas.deliveryFilters,
        },
        earliestMs,
        limit,
      }),
      returns: { 200: schemas.DeliveryList },
      handler: ({ query, tenancy, input }) =>
        listed({ ...tenancy, webhook_id: query.webhook_id }, query, input),
    }),
    route('GET /v1/webhooks/{webhook_id}/deliveries', {
      operationId: 'listDeliveries',
      summary: 'List deliveries to a webhook',
      description: `Returns the deliveries to a webhook, newest first. Deliveries without an attempt are not included. ${shortPages}`,
      scopes: ['webhooks:read'],
      ...list({ name, of: 'webhook', filters: schemas.deliveryFilters, earliestMs, limit }),
      returns: { 200: schemas.DeliveryList },
      handler: async (request) => {
        const { organization_id, id } = await findWebhook(database, request);
        return listed({ organization_id, webhook_id: id }, request.query, request.input);
      },
    }),
    route('GET /v1/events/{event_id}/deliveries', {
      operationId: 'listEventDeliveries',
      summary: 'List deliveries of an event',
      description:
        'Returns the deliveries of one event to all webhooks that the token can see, newest first. This list also ' +
        'includes deliveries without an attempt, which are `pending`, and attempted deliveries to webhooks that ' +
        'have since been deleted. If such a delivery did not succeed, it is `failed` and `final`. ' +
        '`meta.not_delivered` says why each other webhook did not get the event.',
      scopes: ['events:read', 'webhooks:read'],
      ...list({ name, of: 'event', filters: {}, limit }),
      returns: { 200: schemas.EventDeliveryList },
      handler: async ({ params: { event_id: id }, tenancy, input }) => {
        const event = await findEvent((read) => read(database), tenancy, id, earliestMs());
        const filter = { ...tenancy, event };
        const rows = await lists.listEventDeliveries(database, filter, input.after, input.limit + 1);
        const { data, meta } = searchedPage(pageOf(rows, input.limit), input);
        const without = await lists.webhooksWithoutDelivery(database, filter);
        return { data, meta: { ...meta, not_delivered: without.map((one) => whyNotDelivered(event, one)) } };
      },
    }),
    route('GET /v1/webhooks/{webhook_id}/deliveries/{delivery_id}', {
      operationId: 'getDelivery',
      summary: 'Get a delivery',
      description:
        'Returns one delivery with all its attempts and its request. A failed attempt shows what happened ' +
        '(`error_detail`) and what to do about it (`remedy`).',
      scopes: ['webhooks:read'],
      returns: { 200: schemas.DeliveryDetail },
      handler: async (request) => {
        const { webhook, delivery } = await findDelivery(request);
        const context = { webhook, delivery, userAgent, earliestMs: earliestMs() };
        const sent = await sentRequest(database, request, context);
        const bodyBytes = sent.body === null ? undefined : Buffer.byteLength(sent.body);
        const webhookIsActive = webhook.status === 'active';
        const about = { url: webhook.url, bodyBytes, secretRotatedAt: webhook.secret_rotated_at };
        const attempt_log = attemptLog(delivery, webhookIsActive, about);
        return { data: { ...deliveryBody(delivery, webhookIsActive), attempt_log, request: sent } };
      },
    }),
    route('POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver', {
      operationId: 'redeliver',
      summary: 'Redeliver an event',
      description:
        'If the delivery has ended, creates a new delivery of the same event, with its own attempts. If the ' +
        'delivery is waiting for a retry, attempts it now and returns the same delivery. This is an extra attempt: ' +
        'it counts in `attempts`, but if it fails, `next_attempt_at` is the same as before. If the delivery is ' +
        'waiting for its first attempt or is being attempted, returns it unchanged.',
      scopes: ['webhooks:write', 'events:read'],
      idempotent: true,
      body: NoBody,
      bodyIsOptional: true,
      returns: { 202: schemas.WaitingDelivery },
      sends: ['Location'],
      refusals: ['webhook_not_active'],
      handler: async (request, reply) => {
        const { webhook, delivery, key } = await findDelivery(request);
        refuseInactive(webhook);
        const { location, body } = await writeWebhook(database, request, async (client) => {
          const waiting = delivery.status === 'pending' ? await attemptNow(client, delivery, key) : undefined;
          const queued = waiting ?? (await queueRedelivery(client, { ...key, ...delivery }));
          if (!queued) throw new Problem('not_found', 'The event of this delivery no longer exists.');
          const { id: delivery_id, event_id } = queued;
          const again = waiting ? {} : { redelivery_of: delivery.id };
          const changes = changesBetween(undefined, { delivery_id, ...again, event_id });
          const location = `/v1/webhooks/${webhook.id}/deliveries/${delivery_id}`;
          const response = {
            status: 202,
            location,
            body: { data: deliveryBody(queued, webhook.status === 'active') },
          };
          return { webhook, action: 'webhook.redelivered', changes, response, result: response };
        });
        reply.header('Location', location);
        return body;
      },
    }),
  ];

  async function listed(
    of: Pick<lists.DeliveryFilter, 'organization_id' | 'workspace_id' | 'webhook_id'>,
    { status, final, event_type, event_id }: Static<TObject<typeof schemas.deliveryFilters>>,
    input: ListRequest,
  ) {
    const { fromMs, toMs, after, limit } = input;
    const filter: lists.DeliveryFilter = {
      ...of,
      status,
      final: final === undefined ? undefined : final === 'true',
      event_type,
      // A malformed ID contains no time and matches no event.
      event: event_id === undefined ? undefined : { id: event_id, createdMs: idTimeMs('EVT', event_id) ?? 0 },
      fromMs,
      toMs,
    };
    return searchedPage(await lists.listDeliveries(database, filter, after, limit), input);
  }

  async function findDelivery(request: FastifyRequest) {
    const webhook = await findWebhook(database, request);
    const { delivery_id: id } = request.params as { delivery_id: string };
    const createdMs = idTimeMs('WDLV', id) ?? 0;
    const key = { organization_id: webhook.organization_id, webhook_id: webhook.id, createdMs, id };
    const delivery = createdMs >= earliestMs() ? await readDelivery(database, key) : undefined;
    if (!delivery) throw new Problem('not_found', 'The delivery does not exist.');
    return { webhook, delivery, key };
  }
}

function searchedPage(page: lists.DeliveryPage, input: ListRequest) {
  const { data, meta } = pageBody(page, input, (row) => deliveryBody(row, row.webhook_is_active));
  const { searchedToMs } = page;
  if (searchedToMs === undefined) return { data, meta };
  return { data, meta: { ...meta, searched_to: new Date(searchedToMs).toISOString() } };
}

/** Makes an attempt of a waiting delivery due now, and returns it. Returns undefined if the delivery has ended. */
async function attemptNow(
  client: Queryable,
  delivery: StoredDelivery,
  key: Parameters<typeof bringForward>[1],
): Promise<StoredDelivery | undefined> {
  const brought = await bringForward(client, key);
  if (brought) return brought;
  // A delivery without a row is waiting for its first attempt, which is already due.
  const current = delivery.attempts === 0 ? await readDelivery(client, key) : undefined;
  return current?.status === 'pending' ? current : undefined;
}

export function refuseInactive({ status }: Webhook): void {
  if (status === 'active' || status === 'paused') return;
  throw new Problem(
    'webhook_not_active',
    `The webhook is ${status} and receives no events. ${status === 'unverified' ? 'Verify' : 'Activate'} it first.`,
  );
}
