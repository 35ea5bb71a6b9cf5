import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { changesBetween } from '../domain/audit.js';
import { oldestReadableMs } from '../domain/event.js';
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
    description: '`X-Service-Delivery` of its requests.',
    examples: ['WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3'],
  }),
  event_id: Type.String({ pattern: '^EVT-', description: 'What is delivered.' }),
  event_type: Type.String({ description: 'The type of the event.', examples: ['invoice.finalized'] }),
  status: Type.Enum(['success', 'failed', 'pending'], {
    examples: ['success'],
    description:
      'Between attempts `failed`, with `next_attempt_at`. `pending` only where no attempt was made yet.',
  }),
  http_status: nullable(Type.Integer(), {
    description: 'What the receiver answered to the latest attempt; null where no status came.',
    examples: [200],
  }),
  error: nullable(Type.String(), {
    description:
      'Why no status came: `dns`, `connect`, `tls`, `timeout`, `reset`, `protocol`, `blocked_address`; `disabled` where it was given up with its webhook.',
    examples: [null],
  }),
  duration_ms: nullable(Type.Integer(), {
    description: 'How long the latest attempt took.',
    examples: [41],
  }),
  attempts: Type.Integer({ description: 'How many were made.', examples: [1] }),
  created_at: instant('When the delivery was queued.'),
  delivered_at: Type.Optional(instant('Only with `success`: when the answer came.', [deliveredAt])),
  last_attempt_at: Type.Optional(instant('Without success: when the latest attempt was made.')),
  next_attempt_at: Type.Optional(
    nullable(Type.String({ format: 'date-time' }), {
      description: 'Without success: when the next attempt is due; null where none follows.',
    }),
  ),
};
const DeliverySchema = Type.Object(deliveryFields, { title: 'Delivery' });
const DeliveryDetailSchema = Type.Object(
  {
    ...deliveryFields,
    attempt_log: Type.Array(
      Type.Object({
        attempt: Type.Integer({ description: '1 for the first.', examples: [1] }),
        attempted_at: instant('When it was made.'),
        http_status: nullable(Type.Integer(), {
          description: 'What the receiver answered; null where no status came.',
          examples: [200],
        }),
        error: nullable(Type.String(), { description: 'Why no status came.', examples: [null] }),
        duration_ms: nullable(Type.Integer(), { description: 'How long it took.', examples: [41] }),
        response: nullable(Type.String(), {
          description: 'The first 1 KiB of the body, as text.',
          examples: ['ok'],
        }),
      }),
      { description: 'Every attempt, the first one first.' },
    ),
  },
  { title: 'DeliveryDetail' },
);

const notYet = Type.Null({ description: 'Null until the first attempt.' });
const QueuedSchema = Type.Object(
  {
    ...{ id: deliveryFields.id, event_id: deliveryFields.event_id, event_type: deliveryFields.event_type },
    status: Type.Enum(['pending'], { description: 'It waits for its first attempt.' }),
    ...{ http_status: notYet, error: notYet, duration_ms: notYet },
    attempts: Type.Integer({ description: 'None yet.', examples: [0] }),
    created_at: deliveryFields.created_at,
    next_attempt_at: instant('When the first attempt is due.'),
  },
  { title: 'Delivery' },
);

const ListQuery = Type.Object(
  {
    status: Type.Optional(
      Type.Enum(['success', 'failed'], { description: 'Only these.', examples: ['failed'] }),
    ),
    event_type: nonEmpty('Only events of this type.', ['invoice.finalized']),
    event_id: nonEmpty('Only deliveries of this event.', ['EVT-01JAB3C4D5E6F7G8H9J0K1M2N3']),
    ...timeRange,
    cursor: cursorParameter,
    limit: limitParameter(25),
  },
  { additionalProperties: false },
);
type ListQuery = Static<typeof ListQuery>;

const deliveryParams = Type.Object({
  ...webhookParams.properties,
  delivery_id: Type.String({ description: 'The delivery.', examples: ['WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3'] }),
});
type DeliveryParams = { webhook_id: string; delivery_id: string };

export function deliveryRoutes(app: FastifyInstance, database: Database, now: () => number): void {
  app.get<{ Querystring: ListQuery; Params: { webhook_id: string } }>(
    '/v1/webhooks/:webhook_id/deliveries',
    {
      config: { scopes: ['webhooks:read'], check: queryFaults },
      schema: {
        operationId: 'listDeliveries',
        tags: ['Deliveries'],
        summary: 'List deliveries of a webhook',
        description:
          'Newest first, failures included: every delivery with at least one attempt, for 90 days.',
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
      const oldestMs = oldestReadableMs(now());
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
        summary: 'Read one delivery with every attempt',
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
        scopes: ['webhooks:write'],
        idempotent: true,
        bodyIsOptional: true,
        refusals: ['webhook_not_active'],
      },
      schema: {
        operationId: 'redeliver',
        tags: ['Deliveries'],
        summary: 'Deliver the event once more',
        description: 'Makes a new delivery of the same event, with attempts of its own.',
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
          throw new Problem('not_found', 'The event of this delivery is no longer kept.');
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
      createdMs === undefined || createdMs < oldestReadableMs(now())
        ? undefined
        : await readDelivery(database, {
            organization_id: webhook.organization_id,
            webhook_id: webhook.id,
            createdMs,
            id,
          });
    if (!delivery) throw new Problem('not_found', 'There is no such delivery.');
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
    `The webhook is ${status} and gets no events; make it active first.`,
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
