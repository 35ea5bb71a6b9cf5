import Type, { type Static } from 'typebox';
import { requestFields, responseHeaders, urlExamples } from '../sending/request.js';
import { cursorParameter, limitParameter, nonEmpty, nullable, timeRange } from '../web/schemas.js';
import { webhookParams } from '../webhooks/webhook-schemas.js';

const instant = (description: string, examples?: string[]) =>
  Type.String({ format: 'date-time', description, ...(examples && { examples }) });

const deliveredAt = '2026-11-15T09:30:00.041Z';

const deliveryFields = {
  id: Type.String({
    pattern: '^WDLV-',
    description: 'Delivery ID, as in `X-Service-Delivery`.',
    examples: ['WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3'],
  }),
  webhook_id: Type.String({ pattern: '^WHK-', description: 'Webhook ID.' }),
  event_id: Type.String({ pattern: '^EVT-', description: 'Event ID.' }),
  event_type: Type.String({ description: 'Event type.', examples: ['invoice.finalized'] }),
  status: Type.Enum(['success', 'failed', 'pending'], {
    examples: ['success'],
    description:
      '`pending` before the first attempt. Between attempts, the status is `failed`, and `final` is false.',
  }),
  final: Type.Boolean({
    description: 'Whether the delivery has ended. If true, there will be no further attempts.',
    examples: [true],
  }),
  http_status: nullable(Type.Integer(), {
    description: 'HTTP status of the latest attempt. Null if no response arrived.',
    examples: [200],
  }),
  error: nullable(Type.String(), {
    description:
      'Why no response arrived: `dns`, `connect`, `tls`, `timeout`, `reset`, `protocol` or `blocked_address`. ' +
      '`disabled` if the webhook was disabled before the next attempt. Otherwise null.',
    examples: [null],
  }),
  duration_ms: nullable(Type.Integer(), {
    description: 'Duration of the latest attempt in milliseconds.',
    examples: [41],
  }),
  attempts: Type.Integer({ description: 'Number of attempts so far.', examples: [1] }),
  created_at: instant('Time when the delivery was created.'),
  delivered_at: Type.Optional(
    instant('Only for `success`: the time when the receiver responded.', [deliveredAt]),
  ),
  last_attempt_at: Type.Optional(
    instant('Only if the status is not `success`: the time of the latest attempt.'),
  ),
  next_attempt_at: Type.Optional(
    nullable(Type.String({ format: 'date-time' }), {
      description:
        'Only if the status is not `success`: the time of the next attempt. Null if there will be none. Also null ' +
        'while the webhook is `unverified`: the delivery then waits until the webhook is verified, and `final` is false.',
    }),
  ),
};
export const DeliverySchema = Type.Object(deliveryFields, { title: 'Delivery' });

const { delivered_at: _, ...waitingFields } = deliveryFields;
const beforeFirst = { examples: [null] };
/** A delivery that is waiting for an attempt. */
export const WaitingDeliverySchema = Type.Object(
  {
    ...waitingFields,
    status: Type.Enum(['pending', 'failed'], {
      examples: ['pending'],
      description: '`pending` before the first attempt, `failed` between attempts.',
    }),
    final: Type.Boolean({ description: 'Always false, because an attempt will follow.', examples: [false] }),
    http_status: { ...deliveryFields.http_status, ...beforeFirst },
    duration_ms: { ...deliveryFields.duration_ms, ...beforeFirst },
    attempts: { ...deliveryFields.attempts, examples: [0] },
    next_attempt_at: instant('Time of the next attempt.'),
  },
  { title: 'WaitingDelivery' },
);

/** The request of a delivery. Its URL may be unknown, because the webhook may have changed since. */
const SentRequestSchema = Type.Object(
  {
    url: nullable(Type.String(), {
      description:
        "Request URL. If the webhook's URL or header names have changed since the attempt, this is null for a " +
        'successful attempt. For a failed attempt, it is the URL that was used, without its query string.',
      ...urlExamples,
    }),
    ...requestFields,
  },
  {
    title: 'SentRequest',
    description:
      'The request of the latest attempt, without signatures. Before the first attempt, the request that will be ' +
      "sent. If the webhook's URL or header names have changed since the attempt, the custom headers are left out.",
  },
);

const AttemptSchema = Type.Object(
  {
    attempt: Type.Integer({ description: 'Number of the attempt, starting at 1.', examples: [1] }),
    attempted_at: instant('Time of the attempt.'),
    http_status: nullable(Type.Integer(), {
      description: 'HTTP status that the receiver returned. Null if no response arrived.',
      examples: [200],
    }),
    error: nullable(Type.String(), {
      description: 'Why no response arrived. Null if a response arrived.',
      examples: [null],
    }),
    duration_ms: nullable(Type.Integer(), { description: 'Duration in milliseconds.', examples: [41] }),
    response: nullable(Type.String(), {
      description: 'First 1 KiB of the response body, as text.',
      examples: ['ok'],
    }),
    error_detail: Type.Optional(
      Type.String({ description: 'Only for failed attempts: what happened, in one or two sentences.' }),
    ),
    remedy: Type.Optional(
      Type.String({ description: 'Only for failed attempts: what to do about it, in one or two sentences.' }),
    ),
    response_headers: Type.Optional(
      Type.Object(responseHeaders, {
        title: 'ResponseHeaders',
        description: 'Only for failed attempts: the response headers listed here, if the receiver sent them.',
      }),
    ),
  },
  { title: 'Attempt' },
);

export const DeliveryDetailSchema = Type.Object(
  {
    ...deliveryFields,
    attempt_log: Type.Array(AttemptSchema, { description: 'All attempts, oldest first.' }),
    request: SentRequestSchema,
  },
  { title: 'DeliveryDetail' },
);

/** The filters for the deliveries of one webhook or of all webhooks. */
const filters = {
  status: Type.Optional(
    Type.Enum(['success', 'failed'], {
      description: 'Return only deliveries with this status.',
      examples: ['failed'],
    }),
  ),
  final: Type.Optional(
    Type.Enum(['true', 'false'], {
      description:
        '`true`: return only deliveries that have ended. `false`: return only deliveries that will be attempted again.',
      examples: ['false'],
    }),
  ),
  event_type: nonEmpty('Return only deliveries of this event type.', ['invoice.finalized']),
  event_id: nonEmpty('Return only deliveries of this event.', ['EVT-01JAB3C4D5E6F7G8H9J0K1M2N3']),
  ...timeRange,
  cursor: cursorParameter,
  limit: limitParameter(25),
};

export const WebhookListQuery = Type.Object(filters, { additionalProperties: false });
export const ListQuery = Type.Object(
  {
    organization_id: nonEmpty("Organization ID. Default: the token's organization.", ['ORG-demo']),
    workspace_id: nonEmpty('Return only deliveries to webhooks in this workspace.', ['WS-berlin']),
    webhook_id: nonEmpty('Return only deliveries to this webhook.', ['WHK-01JAB3C4D5E6F7G8H9J0K1M2N3']),
    ...filters,
  },
  { additionalProperties: false },
);
export type ListQuery = Static<typeof ListQuery>;

export const EventListQuery = Type.Object(
  { cursor: cursorParameter, limit: limitParameter(25) },
  { additionalProperties: false },
);

export const deliveryParams = Type.Object({
  ...webhookParams.properties,
  delivery_id: Type.String({ description: 'Delivery ID.', examples: ['WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3'] }),
});
export type DeliveryParams = { webhook_id: string; delivery_id: string };
