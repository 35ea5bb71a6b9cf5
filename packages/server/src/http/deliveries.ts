import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { changesBetween } from '../domain/audit.js';
import { idTimeMs, newId } from '../domain/identifier.js';
import { bindingOf, encodeCursor } from '../domain/page.js';
import { type InputFault, Problem } from '../domain/problem.js';
import { writeAudit } from '../storage/audit.js';
import { auditedWrite } from '../storage/audited-writes.js';
import type { Database } from '../storage/database.js';
import {
  type DeliveryDetail,
  type EarlierAttempt,
  listDeliveries,
  queueRedelivery,
  readDelivery,
  type StoredDelivery,
} from '../storage/delivery-history.js';
import { cursorFaults, positionOf } from './paging.js';
import { rangeFaults, rangeOf } from './range.js';
import { cursorParameter, limitParameter, nonEmpty, PageMeta, timeRange } from './schemas.js';
import { webhookEntry } from './webhook-audit.js';
import { findWebhook } from './webhook-lookup.js';
import { NoBody, webhookParams } from './webhook-schemas.js';

const nullable = <T extends Type.TSchema>(schema: T, options: Type.TSchemaOptions) =>
  Type.Union([schema, Type.Null()], options);
const instant = (description: string, examples?: string[]) =>
  Type.String({ format: 'date-time', description, ...(examples && { examples }) });

const deliveredAt = '2026-11-15T09:30:00.041Z';

const deliveryFields = {
  id: Type.String({
    pattern: '^WDLV-',
    description: 'Delivery ID, as in `X-Service-Delivery`.',
    examples: ['WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3'],
  }),
  event_id: Type.String({ pattern: '^EVT-', description: 'Event ID.' }),
  event_type: Type.String({ description: 'Event type.', examples: ['invoice.finalized'] }),
  status: Type.Enum(['success', 'failed', 'pending'], {
    examples: ['success'],
    description:
      '`pending` before the first attempt. Between attempts it is `failed`, and `next_attempt_at` is set.',
  }),
  http_status: nullable(Type.Integer(), {
    description: 'Status that the receiver returned to the latest attempt. Null if there was none.',
    examples: [200],
  }),
  error: nullable(Type.String(), {
    description:
      'Why there was no status: `dns`, `connect`, `tls`, `timeout`, `reset`, `protocol` or `blocked_address`. `disabled` if the webhook was disabled first.',
    examples: [null],
  }),
  duration_ms: nullable(Type.Integer(), {
    description: 'Duration of the latest attempt in milliseconds.',
    examples: [41],
  }),
  attempts: Type.Integer({ description: 'Number of attempts so far.', examples: [1] }),
  created_at: instant('Time when the delivery was created.'),
  delivered_at: Type.Optional(
    instant('Only for `success`: time when the receiver responded.', [deliveredAt]),
  ),
  last_attempt_at: Type.Optional(instant('Only without success: time of the latest attempt.')),
  next_attempt_at: Type.Optional(
    nullable(Type.String({ format: 'date-time' }), {
      description: 'Only without success: time of the next attempt. Null if there will be none.',
    }),
  ),
};
const DeliverySchema = Type.Object(deliveryFields, { title: 'Delivery' });
const DeliveryDetailSchema = Type.Object(
  {
    ...deliveryFields,
    attempt_log: Type.Array(
      Type.Object({
        attempt: Type.Integer({ description: 'Number of the attempt, starting at 1.', examples: [1] }),
        attempted_at: instant('Time of the attempt.'),
        http_status: nullable(Type.Integer(), {
          description: 'Status that the receiver returned. Null if there was none.',
          examples: [200],
        }),
        error: nullable(Type.String(), { description: 'Why there was no status.', examples: [null] }),
        duration_ms: nullable(Type.Integer(), { description: 'Duration in milliseconds.', examples: [41] }),
        response: nullable(Type.String(), {
          description: 'First 1 KiB of the response body, as text.',
          examples: ['ok'],
        }),
      }),
      { description: 'All attempts, oldest first.' },
    ),
  },
  { title: 'DeliveryDetail' },
);

const notYet = Type.Null({ description: 'Null before the first attempt.' });
const QueuedSchema = Type.Object(
  {
    ...{ id: deliveryFields.id, event_id: deliveryFields.event_id, event_type: deliveryFields.event_type },
    status: Type.Enum(['pending'], { description: 'Waiting for the first attempt.' }),
    ...{ http_status: notYet, error: notYet, duration_ms: notYet },
    attempts: Type.Integer({ description: 'Number of attempts so far.', examples: [0] }),
    created_at: deliveryFields.created_at,
    next_attempt_at: instant('Time of the first attempt.'),
  },
  { title: 'Delivery' },
);

const ListQuery = Type.Object(
  {
    status: Type.Optional(
      Type.Enum(['success', 'failed'], {
        description: 'Return only deliveries with this status.',
        examples: ['failed'],
      }),
    ),
    event_type: nonEmpty('Return only deliveries of this event type.', ['invoice.finalized']),
    event_id: nonEmpty('Return only deliveries of this event.', ['EVT-01JAB3C4D5E6F7G8H9J0K1M2N3']),
    ...timeRange,
    cursor: cursorParameter,
    limit: limitParameter(25),
  },
  { additionalProperties: false },
);
type ListQuery = Static<typeof ListQuery>;

const deliveryParams = Type.Object({
  ...webhookParams.properties,
  delivery_id: Type.String({ description: 'Delivery ID.', examples: ['WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3'] }),
});
type DeliveryParams = { webhook_id: string; delivery_id: string };

export function deliveryRoutes(
  app: FastifyInstance,
  database: Database,
  now: () => number,
  oldestReadableMs: () => number,
): void {
  app.get<{ Querystring: ListQuery; Params: { webhook_id: string } }>(
    '/v1/webhooks/:webhook_id/deliveries',
    {
      config: { scopes: ['webhooks:read'], check: queryFaults },
      schema: {
        operationId: 'listDeliveries',
        tags: ['Deliveries'],
        summary: 'List deliveries',
        description:
          'Returns the deliveries of a webhook, newest first. Deliveries without an attempt are not included.',
        params: webhookParams,
        querystring: ListQuery,
        response: { 200: Type.Object({ data: Type.Array(DeliverySchema), meta: PageMeta }) },
      },
    },
    async (request) => {
      const webhook = await findWebhook(database, request);
      const { query } = request;
      const limit = query.limit ?? 25;
      const binding = bindingFor(query, request);
      const after = positionOf(query.cursor, binding);
      const { fromMs, toMs } = rangeOf(query);
      const oldestMs = oldestReadableMs();
      const filter = {
        organization_id: webhook.organization_id,
        webhook_id: webhook.id,
        status: query.status,
        event_type: query.event_type,
        event: eventOf(query.event_id),
        fromMs: Math.max(fromMs ?? oldestMs, oldestMs),
        toMs,
      };
      const rows = await listDeliveries(database, filter, after, limit + 1);
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const cursor = last ? encodeCursor({ atMs: last.created_at.getTime(), id: last.id }, binding) : null;
      return { data: page.map(deliveryBody), meta: { cursor, has_more: rows.length > limit } };
    },
  );

  app.get<{ Params: DeliveryParams }>(
    '/v1/webhooks/:webhook_id/deliveries/:delivery_id',
    {
      config: { scopes: ['webhooks:read'] },
      schema: {
        operationId: 'getDelivery',
        tags: ['Deliveries'],
        summary: 'Get a delivery',
        description: 'Returns one delivery with all its attempts.',
        params: deliveryParams,
        response: { 200: Type.Object({ data: DeliveryDetailSchema }) },
      },
    },
    async (request) => {
      const { delivery } = await findDelivery(request);
      return { data: { ...deliveryBody(delivery), attempt_log: attemptLog(delivery) } };
    },
  );

  app.post<{ Params: DeliveryParams }>(
    '/v1/webhooks/:webhook_id/deliveries/:delivery_id/redeliver',
    {
      config: {
        scopes: ['webhooks:write', 'events:read'],
        idempotent: true,
        bodyIsOptional: true,
        refusals: ['webhook_not_active'],
      },
      schema: {
        operationId: 'redeliver',
        tags: ['Deliveries'],
        summary: 'Redeliver an event',
        description: 'Creates a new delivery of the same event, with its own attempts.',
        params: deliveryParams,
        body: NoBody,
        response: { 202: Type.Object({ data: QueuedSchema }) },
      },
    },
    async (request, reply) => {
      const { webhook, delivery } = await findDelivery(request);
      refuseInactive(webhook.status);
      const again = {
        organization_id: webhook.organization_id,
        webhook_id: webhook.id,
        id: newId('WDLV', now()),
        created_at: new Date(now()),
        event_id: delivery.event_id,
        event_created_at: delivery.event_created_at,
      };
      // The id carries the time, by which the row is found again.
      again.created_at = new Date(idTimeMs('WDLV', again.id) ?? now());
      const changes = changesBetween(undefined, {
        delivery_id: again.id,
        redelivery_of: delivery.id,
        event_id: again.event_id,
      });
      await auditedWrite(database, request.token.organization_id, async (client) => {
        if (!(await queueRedelivery(client, again))) {
          throw new Problem('not_found', 'The event of this delivery no longer exists.');
        }
        await writeAudit(client, [webhookEntry(request, webhook, 'webhook.redelivered', changes)]);
      });
      const queued: StoredDelivery = {
        ...{ id: again.id, event_id: again.event_id, event_type: delivery.event_type },
        ...{
          event_created_at: again.event_created_at,
          created_at: again.created_at,
          due_at: again.created_at,
        },
        ...{
          status: 'pending',
          attempts: 0,
          attempted_at: null,
          http_status: null,
          error: null,
          duration_ms: null,
        },
      };
      return reply
        .status(202)
        .header('Location', `/v1/webhooks/${webhook.id}/deliveries/${queued.id}`)
        .send({ data: deliveryBody(queued) });
    },
  );

  async function findDelivery(request: FastifyRequest) {
    const webhook = await findWebhook(database, request);
    const { delivery_id: id } = request.params as DeliveryParams;
    const createdMs = idTimeMs('WDLV', id);
    const delivery =
      createdMs === undefined || createdMs < oldestReadableMs()
        ? undefined
        : await readDelivery(database, {
            organization_id: webhook.organization_id,
            webhook_id: webhook.id,
            createdMs,
            id,
          });
    if (!delivery) throw new Problem('not_found', 'The delivery does not exist.');
    return { webhook, delivery };
  }
}

/** An id that is none of ours has no time; no event has it either. */
function eventOf(id: string | undefined) {
  return id === undefined ? undefined : { id, createdMs: idTimeMs('EVT', id) ?? 0 };
}

export function refuseInactive(status: string): void {
  if (status === 'active') return;
  throw new Problem(
    'webhook_not_active',
    `The webhook is ${status} and receives no events. Activate it first.`,
  );
}

function deliveryBody(delivery: StoredDelivery) {
  const attempted = delivery.attempts > 0 && delivery.attempted_at !== null;
  const base = {
    id: delivery.id,
    event_id: delivery.event_id,
    event_type: delivery.event_type,
    status: delivery.status === 'pending' && attempted ? 'failed' : delivery.status,
    http_status: delivery.http_status,
    error: delivery.error,
    duration_ms: delivery.duration_ms,
    attempts: delivery.attempts,
    created_at: delivery.created_at.toISOString(),
  };
  const attemptedAt = delivery.attempted_at?.getTime() ?? 0;
  if (delivery.status === 'success') {
    return { ...base, delivered_at: new Date(attemptedAt + (delivery.duration_ms ?? 0)).toISOString() };
  }
  return {
    ...base,
    ...(attempted && { last_attempt_at: new Date(attemptedAt).toISOString() }),
    next_attempt_at: delivery.status === 'pending' ? delivery.due_at.toISOString() : null,
  };
}

function attemptLog(delivery: DeliveryDetail): EarlierAttempt[] {
  const { earlier_attempts: earlier, attempts, attempted_at } = delivery;
  const log = (earlier ?? []).map((one) => attemptBody(one, new Date(one.attempted_at)));
  // Of one that was given up with its webhook the last attempt is among the earlier ones.
  const isComplete = log.length >= attempts || attempted_at === null;
  return isComplete ? log : [...log, attemptBody({ ...delivery, attempt: attempts }, attempted_at)];
}

function attemptBody(attempt: Omit<EarlierAttempt, 'attempted_at'>, at: Date): EarlierAttempt {
  const { attempt: number, http_status, error, duration_ms, response } = attempt;
  return { attempt: number, attempted_at: at.toISOString(), http_status, error, duration_ms, response };
}

function bindingFor(query: ListQuery, request: FastifyRequest): string {
  const { status, event_type, event_id } = query;
  const { fromMs: from, toMs: to } = rangeOf(query);
  const { webhook_id } = request.params as { webhook_id: string };
  return bindingOf('deliveries', { webhook_id, status, event_type, event_id, from, to });
}

function queryFaults(request: FastifyRequest): readonly InputFault[] {
  const query = request.query as ListQuery;
  return [...rangeFaults(query), ...cursorFaults(query.cursor, () => bindingFor(query, request))];
}
