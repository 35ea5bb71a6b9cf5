import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { storeWithWrite } from '../access/idempotency.js';
import { changesBetween } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { idTimeMs } from '../values/identifier.js';
import { Problem } from '../values/problem.js';
import type { Webhook } from '../webhooks/webhook.js';
import { webhookEntry } from '../webhooks/webhook-audit.js';
import { findWebhook } from '../webhooks/webhook-lookup.js';
import { NoBody } from '../webhooks/webhook-schemas.js';
import { attemptLog, deliveryBody } from './delivery-body.js';
import {
  DeliveryDetailSchema,
  type DeliveryParams,
  deliveryParams,
  WaitingDeliverySchema,
} from './delivery-schemas.js';
import {
  bringForward,
  type DeliveryKey,
  queueRedelivery,
  readDelivery,
  type StoredDelivery,
} from './history-store.js';
import { sentRequest } from './sent-request.js';

export interface DeliveryRoutesOptions {
  database: Database;
  /** The `User-Agent` of deliveries. */
  userAgent: string;
  /** Returns the earliest time from which events can still be read. */
  earliestMs: () => number;
}

/** Adds the routes that get and redeliver one delivery. */
export function deliveryRoutes(
  app: FastifyInstance,
  { database, userAgent, earliestMs }: DeliveryRoutesOptions,
): void {
  app.get<{ Params: DeliveryParams }>(
    '/v1/webhooks/:webhook_id/deliveries/:delivery_id',
    {
      config: { scopes: ['webhooks:read'] },
      schema: {
        operationId: 'getDelivery',
        tags: ['Deliveries'],
        summary: 'Get a delivery',
        description:
          'Returns one delivery with all its attempts and its request. A failed attempt shows what happened ' +
          '(`error_detail`) and what to do about it (`remedy`).',
        params: deliveryParams,
        response: { 200: Type.Object({ data: DeliveryDetailSchema }) },
      },
    },
    async (request) => {
      const { webhook, delivery } = await findDelivery(request);
      const sent = await sentRequest(database, request, {
        webhook,
        delivery,
        userAgent,
        earliestMs: earliestMs(),
      });
      const bodyBytes = sent.body === null ? undefined : Buffer.byteLength(sent.body);
      const webhookIsActive = webhook.status === 'active';
      const attempt_log = attemptLog(delivery, { url: webhook.url, webhookIsActive, bodyBytes });
      return { data: { ...deliveryBody(delivery, webhookIsActive), attempt_log, request: sent } };
    },
  );

  app.post<{ Params: DeliveryParams }>(
    '/v1/webhooks/:webhook_id/deliveries/:delivery_id/redeliver',
    {
      config: {
        scopes: ['webhooks:write', 'events:read'],
        idempotent: true,
        sends: ['Location'],
        bodyIsOptional: true,
        refusals: ['webhook_not_active'],
      },
      schema: {
        operationId: 'redeliver',
        tags: ['Deliveries'],
        summary: 'Redeliver an event',
        description:
          'If the delivery has ended, creates a new delivery of the same event, with its own attempts. If the ' +
          'delivery is still waiting for an attempt, makes that attempt now and returns the same delivery.',
        params: deliveryParams,
        body: NoBody,
        response: { 202: Type.Object({ data: WaitingDeliverySchema }) },
      },
    },
    async (request, reply) => {
      const { webhook, delivery, key } = await findDelivery(request);
      refuseInactive(webhook.status);
      const response = await auditedWrite(database, request.token.organization_id, async (client) => {
        const waiting = delivery.status === 'pending' && (await attemptNow(client, delivery, key));
        const queued = waiting || (await deliverAgain(client, webhook, delivery));
        const changes = waiting
          ? changesBetween(undefined, { delivery_id: delivery.id, event_id: delivery.event_id })
          : changesBetween(undefined, {
              delivery_id: queued.id,
              redelivery_of: delivery.id,
              event_id: queued.event_id,
            });
        await writeAudit(client, [webhookEntry(request, webhook, 'webhook.redelivered', changes)]);
        const location = `/v1/webhooks/${webhook.id}/deliveries/${queued.id}`;
        const response = { status: 202, location, body: { data: deliveryBody(queued, true) } };
        await storeWithWrite(client, request, response);
        return response;
      });
      return reply.status(202).header('Location', response.location).send(response.body);
    },
  );

  /** Makes a waiting delivery due now, and returns it. Returns undefined if the delivery has ended. */
  async function attemptNow(
    client: Queryable,
    delivery: StoredDelivery,
    key: DeliveryKey,
  ): Promise<StoredDelivery | undefined> {
    const brought = await bringForward(client, key);
    if (brought) return brought;
    // A delivery without a row is waiting for its first attempt, which is already due.
    const current = delivery.attempts === 0 ? await readDelivery(client, key) : undefined;
    return current?.status === 'pending' ? current : undefined;
  }

  async function deliverAgain(
    client: Queryable,
    { organization_id, id: webhook_id }: Webhook,
    { event_id, event_created_at }: StoredDelivery,
  ): Promise<StoredDelivery> {
    const again = { organization_id, webhook_id, event_id, event_created_at };
    const queued = await queueRedelivery(client, again);
    if (!queued) throw new Problem('not_found', 'The event of this delivery no longer exists.');
    return queued;
  }

  async function findDelivery(request: FastifyRequest) {
    const webhook = await findWebhook(database, request);
    const { delivery_id: id } = request.params as DeliveryParams;
    const createdMs = idTimeMs('WDLV', id) ?? 0;
    const key = { organization_id: webhook.organization_id, webhook_id: webhook.id, createdMs, id };
    const isReadable = createdMs >= earliestMs();
    const delivery = isReadable ? await readDelivery(database, key) : undefined;
    if (!delivery) throw new Problem('not_found', 'The delivery does not exist.');
    return { webhook, delivery, key };
  }
}

export function refuseInactive(status: string): void {
  if (status === 'active') return;
  throw new Problem(
    'webhook_not_active',
    `The webhook is ${status} and receives no events. ${status === 'unverified' ? 'Verify' : 'Activate'} it first.`,
  );
}
