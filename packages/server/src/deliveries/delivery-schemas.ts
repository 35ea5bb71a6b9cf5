import Type from 'typebox';
import { instant, pageSchema } from '../web/lists.js';
import * as schemas from '../web/schemas.js';
import { ResponseHeaders, requestFields } from '../webhooks/probe-schemas.js';
import { EventTypesField } from '../webhooks/webhook-schemas.js';
import { notDeliveredReasons } from './not-delivered.js';

const deliveryFields = {
  id: schemas.id('WDLV', 'Delivery ID, as in `X-Service-Delivery`.', 'WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3'),
  webhook_id: schemas.id('WHK', 'Webhook ID.'),
  event_id: schemas.id('EVT', 'Event ID.'),
  event_type: schemas.text('Event type.', 'invoice.finalized'),
  status: schemas.oneOf(
    ['success', 'failed', 'pending'],
    '`pending` before the first attempt. Between attempts, the status is `failed`, and `final` is false.',
    'success',
  ),
  final: schemas.flag('Whether the delivery has ended. If true, there will be no further attempts.', true),
  http_status: schemas.wholeOrNull('HTTP status of the latest attempt. Null if no response arrived.', 200),
  error: schemas.textOrNull(
    'Why no response arrived: `dns`, `connect`, `tls`, `timeout`, `reset`, `protocol` or `blocked_address`. ' +
      '`disabled` if the webhook was disabled before the next attempt. Otherwise null.',
    null,
  ),
  duration_ms: schemas.wholeOrNull('Duration of the latest attempt in milliseconds.', 41),
  attempts: schemas.whole('Number of attempts so far.', 1),
  created_at: schemas.time('Time when the delivery was created.'),
  ...schemas.optional({
    delivered_at: schemas.time(
      'Only for `success`: the time when the receiver responded.',
      '2026-11-15T09:30:00.041Z',
    ),
    last_attempt_at: schemas.time('Only if the status is not `success`: the time of the latest attempt.'),
    next_attempt_at: schemas.timeOrNull(
      'Only if the status is not `success`: the time of the next attempt. Null if there will be none. Also null ' +
        'while the webhook is `unverified` or `paused`: the delivery then waits until the webhook is `active`, and ' +
        '`final` is false.',
    ),
  }),
};

const { delivered_at: _, ...waitingFields } = deliveryFields;
const beforeFirst = { examples: [null] };
/** A delivery that is waiting for an attempt. */
export const WaitingDelivery = schemas.namedData('WaitingDelivery', {
  ...waitingFields,
  status: schemas.oneOf(
    ['pending', 'failed'],
    '`pending` before the first attempt, `failed` between attempts.',
    'pending',
  ),
  final: schemas.flag('Always false, because an attempt will follow.', false),
  http_status: { ...deliveryFields.http_status, ...beforeFirst },
  duration_ms: { ...deliveryFields.duration_ms, ...beforeFirst },
  attempts: { ...deliveryFields.attempts, examples: [0] },
  next_attempt_at: schemas.time('Time of the next attempt.'),
});

/** The request of a delivery. Its URL may be unknown, because the webhook may have changed since. */
const SentRequest = Type.Object(
  {
    url: schemas.textOrNull(
      "Request URL. If the webhook's URL or header names have changed since the attempt, this is null for a " +
        'successful attempt. For a failed attempt, it is the URL that was used, without its query string.',
      'https://example.com/webhooks',
    ),
    ...requestFields,
  },
  {
    title: 'SentRequest',
    description:
      'The request of the latest attempt, without signatures. Before the first attempt, the request that will be ' +
      "sent. If the webhook's URL or header names have changed since the attempt, the custom headers are left out.",
  },
);

const Attempt = schemas.named('Attempt', {
  attempt: schemas.whole('Number of the attempt, starting at 1.', 1),
  attempted_at: schemas.time('Time of the attempt.'),
  http_status: schemas.wholeOrNull(
    'HTTP status that the receiver returned. Null if no response arrived.',
    200,
  ),
  error: schemas.textOrNull('Why no response arrived. Null if a response arrived.', null),
  duration_ms: schemas.wholeOrNull('Duration in milliseconds.', 41),
  response: schemas.textOrNull('First 1 KiB of the response body, as text.', 'ok'),
  ...schemas.optional({
    error_detail: schemas.text('Only for failed attempts: what happened, in one or two sentences.'),
    remedy: schemas.text('Only for failed attempts: what to do about it, in one or two sentences.'),
    response_headers: ResponseHeaders(
      'Only for failed attempts: the response headers listed here, if the receiver sent them.',
    ),
  }),
});

export const DeliveryDetail = schemas.namedData('DeliveryDetail', {
  ...deliveryFields,
  attempt_log: Type.Array(Attempt, { description: 'All attempts, oldest first.' }),
  request: SentRequest,
});

const Delivery = schemas.named('Delivery', deliveryFields);

export const DeliveryList = pageSchema(
  Delivery,
  schemas.named('SearchedPageMeta', {
    ...schemas.PageMeta.properties,
    searched_to: Type.Optional(
      schemas.time(
        'How far back the search for this page went. Present if the page ended early because the search ' +
          'reached the maximum number of deliveries that it reads for one page.',
      ),
    ),
  }),
);

const NotDelivered = schemas.named('NotDelivered', {
  webhook_id: schemas.id('WHK', 'Webhook ID.'),
  reason: schemas.oneOf(notDeliveredReasons, 'Why the webhook did not get the event.', 'not_subscribed'),
  detail: schemas.text(
    'The reason, in one or two sentences.',
    'The webhook is not subscribed to invoice.paid, only to task.*.',
  ),
});

export const EventDeliveryList = schemas.named('EventDeliveryList', {
  data: Type.Array(Delivery),
  meta: schemas.named('EventDeliveriesMeta', {
    ...schemas.PageMeta.properties,
    not_delivered: Type.Array(NotDelivered, {
      description:
        'The webhooks that the token can see and that have no delivery of this event, newest first, each with ' +
        'the reason. The reasons are those of the webhooks as they are now.',
      examples: [
        [
          {
            webhook_id: 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3',
            reason: 'not_subscribed',
            detail: 'The webhook is not subscribed to invoice.paid, only to task.*.',
          },
        ],
      ],
    }),
  }),
});

/** The filters for the deliveries of one webhook or of all webhooks. */
export const deliveryFilters = {
  ...schemas.optional({
    status: schemas.oneOf(['success', 'failed'], 'Return only deliveries with this status.', 'failed'),
    final: schemas.oneOf(
      ['true', 'false'],
      '`true`: return only deliveries that have ended. `false`: return only deliveries that will be attempted again.',
      'false',
    ),
  }),
  event_type: schemas.filter('Return only deliveries of this event type.', 'invoice.finalized'),
  event_id: schemas.filter('Return only deliveries of this event.', 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3'),
};

export const ReplayBody = schemas.closed({
  from: instant('Start of the time range, inclusive: a date, or a time with `Z` or an offset.', '2026-11-01'),
  to: instant(
    'End of the time range, inclusive: a date, or a time with `Z` or an offset. Events that are recorded after ' +
      'the request are not included.',
    '2026-11-02T12:00:00Z',
  ),
  ...schemas.optional({
    event_types: EventTypesField,
    only_failed: Type.Boolean({
      default: false,
      description:
        'Send only events whose latest delivery to this webhook failed, or that have no ' +
        'delivery to it. If the latest delivery is waiting for a retry, an extra attempt of it is made now, ' +
        'and no second delivery is created.',
    }),
  }),
});

export const Replay = schemas.namedData('Replay', {
  id: schemas.id('RPL', 'Replay ID.'),
  status: schemas.oneOf(
    ['running', 'done', 'cancelled'],
    '`cancelled` if the webhook was disabled or deleted, or is `unverified`. A paused webhook gets its events when it is resumed.',
    'running',
  ),
  total: schemas.whole(
    'Number of events to send. For very large replays, or if events in the time range are still being ' +
      'recorded, this number is exact only when the replay is done.',
    120,
  ),
  done: schemas.whole(
    'Number of events queued so far. For each of them, a delivery was created, or a delivery that was ' +
      'waiting for a retry was scheduled for an immediate attempt.',
    0,
  ),
  created_at: schemas.time('Time of the request.'),
});
