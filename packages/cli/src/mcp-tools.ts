import { setTimeout as delay } from 'node:timers/promises';
import {
  type Delivery,
  type DeliveryDetail,
  type List,
  type Posthorn,
  PosthornError,
  type Webhook,
} from '@posthorn/client';
import { unknownType } from './commands/types.js';
import type { ApiContext } from './connection.js';
import { isHeld, statusText } from './delivery-report.js';
import { instant, instantOf } from './listing.js';
import { responseText } from './response-text.js';
import { eventId, findDelivery, webhookId } from './short-id.js';

type Arguments = Readonly<Record<string, unknown>>;

/** A tool for agents. `schema` is the JSON Schema of its arguments. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  schema: {
    type: 'object';
    properties: Record<string, object>;
    required?: string[];
    additionalProperties: false;
  };
  /** Whether it changes something or causes a request to a receiver. */
  writes: boolean;
  /** Returns what the agent gets: text, or a value that is sent as JSON. */
  run: (connection: ApiContext, args: Arguments) => Promise<string | object>;
}

const text = (description: string) => ({ type: 'string', description });
const limit = {
  type: 'integer',
  minimum: 1,
  maximum: 100,
  description: 'Maximum number of results. Default: 20.',
};
const outcomeMsMax = 10_000;
const pollMs = 250;
/** How many pages of deliveries one call searches: about a second for a million deliveries. */
const pagesMax = 20;
const webhook = text('Webhook ID (WHK-…), or enough of its ending to be unique, or its description.');
const delivery = text('Delivery ID (WDLV-…), or enough of its ending to be unique.');
const range = {
  from: text(`Start of the time range: ${instant}`),
  to: text(`End of the time range: ${instant}`),
};
const cursor = text(
  'The cursor of the previous result, to continue after it. The other arguments must be the same.',
);

function takes(properties: Record<string, object>, ...required: string[]): Tool['schema'] {
  return { type: 'object', properties, required, additionalProperties: false };
}

const string = (value: unknown) => (typeof value === 'string' ? value : undefined);
const count = (value: unknown) => (typeof value === 'number' ? value : 20);
const time = (value: unknown) => (typeof value === 'string' ? instantOf(value) : undefined);

/** What every list returns. */
interface Items {
  items: readonly object[];
  has_more: boolean;
  cursor: string | null;
  /** How far back a list of deliveries was searched, if that did not find enough. */
  searched_to?: string;
  note?: string;
}

const complete = (items: readonly object[]): Items => ({ items, has_more: false, cursor: null });

/** Returns the results of a list from a cursor on. Each request asks for as many as are missing. */
async function itemsOf<Row extends object>(
  { limit, cursor: start }: Arguments,
  list: (query: { limit: number; cursor: string | undefined }) => List<Row>,
): Promise<Items> {
  const max = count(limit);
  const items: Row[] = [];
  let next: string | null = string(start) ?? null;
  for (let page = 0; page < pagesMax; page += 1) {
    const asked = { limit: max - items.length, cursor: next ?? undefined };
    const { data, hasMore, cursor, searchedTo } = await list(asked).first();
    items.push(...data);
    if (!hasMore) return complete(items);
    next = cursor;
    if (items.length >= max) break;
    if (page === pagesMax - 1)
      return {
        ...{ items, has_more: true, cursor: next },
        ...(searchedTo !== undefined && { searched_to: searchedTo }),
        note: 'Older deliveries were not searched. To search them, call this again with the cursor.',
      };
  }
  return { items, has_more: true, cursor: next };
}

/** Adds a note to an empty list if its type is unknown, which is most likely a typo. */
async function noted(posthorn: Posthorn, type: string | undefined, found: Items): Promise<Items> {
  if (type === undefined || found.items.length > 0) return found;
  const known = await posthorn.eventTypes.list().all();
  return known.some((one) => one.type === type)
    ? found
    : { ...found, note: inToolWords(unknownType(type, known).message) };
}

export const tools: readonly Tool[] = [
  {
    name: 'list_events',
    title: 'List events',
    description: 'Lists recorded events, newest first, with their payloads.',
    schema: takes({
      type: text('Only this event type.'),
      subject_id: text('Only events about this subject.'),
      ...range,
      limit,
      cursor,
    }),
    writes: false,
    run: async ({ posthorn, organization }, args) => {
      const type = string(args.type);
      const query = {
        organization_id: await organization(),
        type,
        subject_id: string(args.subject_id),
        from: time(args.from),
        to: time(args.to),
      };
      return noted(
        posthorn,
        type,
        await itemsOf(args, (page) => posthorn.events.list({ ...query, ...page })),
      );
    },
  },
  {
    name: 'get_event',
    title: 'Get an event',
    description:
      'Returns one event with its payload, its deliveries to all webhooks, and why the other webhooks did not get it ' +
      '(`not_delivered`). To send it to one of them, call replay with `from` and `to` set to its created_at.',
    schema: takes({ event_id: text('Event ID (EVT-…), or enough of its ending to be unique.') }, 'event_id'),
    writes: false,
    run: async (connection, { event_id }) => {
      const id = await eventId(connection, string(event_id) ?? '');
      const event = await connection.posthorn.events.get(id);
      const { data, notDelivered = [] } = await connection.posthorn.events
        .deliveries(id, { limit: 100 })
        .first();
      return { event, deliveries: data, not_delivered: notDelivered };
    },
  },
  {
    name: 'list_event_types',
    title: 'List event types',
    description:
      'Lists the event types. With `type`, returns only that type, with its JSON Schema and a sample payload.',
    schema: takes({ type: text('One event type.') }),
    writes: false,
    run: async ({ posthorn }, { type }) => {
      const types = await posthorn.eventTypes.list().all();
      const wanted = string(type);
      if (wanted !== undefined)
        return noted(posthorn, wanted, complete(types.filter((one) => one.type === wanted)));
      return complete(types.map(({ type, description }) => ({ type, description })));
    },
  },
  {
    name: 'list_webhooks',
    title: 'List webhooks',
    description:
      'Lists the webhooks: URL, status, event types, result of the last delivery, and why a webhook is unverified.',
    schema: takes({}),
    writes: false,
    run: async ({ posthorn }) => complete(await posthorn.webhooks.list().all()),
  },
  {
    name: 'get_webhook',
    title: 'Get a webhook',
    description:
      'Returns one webhook with its statistics for the last 48 hours: the totals, and the hours in which deliveries ended.',
    schema: takes({ webhook_id: webhook }, 'webhook_id'),
    writes: false,
    run: async (connection, args) => {
      const id = await webhookId(connection, string(args.webhook_id) ?? '');
      const { posthorn } = connection;
      const { hours, ...totals } = await posthorn.webhooks.stats(id);
      const busy = hours.filter(({ success, failed }) => success + failed > 0);
      return { webhook: await posthorn.webhooks.get(id), last_48_hours: { ...totals, hours: busy } };
    },
  },
  {
    name: 'preview_webhook',
    title: 'Preview a webhook',
    description:
      'Returns which events of the last 24 hours, or of a time range, a webhook with these event types and this ' +
      'filter would have got: counts, and the newest events. Changes nothing.',
    schema: takes(
      {
        event_types: { type: 'array', items: { type: 'string' }, description: 'Event types, or ["*"].' },
        filter: {
          type: 'object',
          description: 'The filter, such as {"payload": {"currency": ["EUR"], "amount": [{"gte": 1000}]}}.',
        },
        ...range,
      },
      'event_types',
    ),
    writes: false,
    run: async ({ posthorn, organization }, { event_types, filter, from, to }) =>
      posthorn.webhooks.preview({
        organization_id: await organization(),
        event_types: event_types as string[],
        ...(filter !== undefined && { filter: filter as Record<string, unknown> }),
        ...(from !== undefined && { from: String(from) }),
        ...(to !== undefined && { to: String(to) }),
      }),
  },
  {
    name: 'list_deliveries',
    title: 'List deliveries',
    description:
      'Lists deliveries with at least one attempt, newest first. To find failures, set `status` to `failed`.',
    schema: takes({
      webhook_id: webhook,
      status: { enum: ['success', 'failed'], description: 'Only deliveries with this status.' },
      event_type: text('Only deliveries of this event type.'),
      ...range,
      limit,
      cursor,
    }),
    writes: false,
    run: async (connection, args) => {
      const { posthorn } = connection;
      const only = string(args.webhook_id);
      const event_type = string(args.event_type);
      const query = {
        webhook_id: only && (await webhookId(connection, only)),
        status: string(args.status) as 'success' | 'failed' | undefined,
        event_type,
        from: time(args.from),
        to: time(args.to),
      };
      const found = await itemsOf(args, (page) => posthorn.deliveries.list({ ...query, ...page }));
      return noted(posthorn, event_type, found);
    },
  },
  {
    name: 'get_delivery',
    title: 'Get a delivery',
    description: 'Returns a delivery with all attempts, the request and the response of the receiver.',
    schema: takes({ delivery_id: delivery }, 'delivery_id'),
    writes: false,
    run: async (connection, args) => detailOf(connection, await find(connection, args)),
  },
  {
    name: 'explain_delivery',
    title: 'Explain a delivery',
    description: 'Explains why a delivery failed, what to do about it, and what happens next.',
    schema: takes({ delivery_id: delivery }, 'delivery_id'),
    writes: false,
    run: async (connection, args) => {
      const found = await find(connection, args);
      const hook = await connection.posthorn.webhooks.get(found.webhook_id).catch((error) => {
        if (error instanceof PosthornError && error.status === 404) return undefined;
        throw error;
      });
      return explanation(await detailOf(connection, found), hook);
    },
  },
  {
    name: 'verify_webhook',
    title: 'Verify a webhook',
    description:
      'Sends a verification request to the URL of a webhook, and returns the webhook. If its status is still not ' +
      '`active`, `verification_failure` says why.',
    schema: takes({ webhook_id: webhook }, 'webhook_id'),
    writes: true,
    run: async (connection, { webhook_id }) =>
      connection.posthorn.webhooks.verify(await webhookId(connection, string(webhook_id) ?? '')),
  },
  {
    name: 'pause_webhook',
    title: 'Pause a webhook',
    description: 'Pauses an active webhook: nothing is sent, and its deliveries wait for `resume_webhook`.',
    schema: takes({ webhook_id: webhook }, 'webhook_id'),
    writes: true,
    run: (connection, args) => changeStatus(connection, args, 'paused'),
  },
  {
    name: 'resume_webhook',
    title: 'Resume a webhook',
    description: 'Resumes a paused webhook: what waits is sent, oldest first. Verifies any other webhook.',
    schema: takes({ webhook_id: webhook }, 'webhook_id'),
    writes: true,
    run: (connection, args) => changeStatus(connection, args, 'active'),
  },
  {
    name: 'test_webhook',
    title: 'Send a test event',
    description: 'Sends a test event to a webhook, and returns the response of the receiver.',
    schema: takes(
      { webhook_id: webhook, event_type: text('Event type to send.') },
      'webhook_id',
      'event_type',
    ),
    writes: true,
    run: async (connection, { webhook_id, event_type }) => {
      const id = await webhookId(connection, string(webhook_id) ?? '');
      return connection.posthorn.webhooks.test(id, { event_type: string(event_type) ?? '' });
    },
  },
  {
    name: 'redeliver',
    title: 'Redeliver an event',
    description:
      'Delivers an event again, given the ID of a delivery, and returns the delivery with the outcome of the attempt. ' +
      'Waits 10 seconds at most: after that, call get_delivery. A delivery that is still waiting for a retry is ' +
      'attempted now.',
    schema: takes({ delivery_id: delivery }, 'delivery_id'),
    writes: true,
    run: async (connection, args) => {
      const given = await find(connection, args);
      const { id } = await connection.posthorn.deliveries.redeliver(given.webhook_id, given.id);
      const attemptsBefore = id === given.id ? given.attempts : 0;
      const untilMs = performance.now() + outcomeMsMax;
      for (;;) {
        const now = await detailOf(connection, { ...given, id });
        if (now.attempts > attemptsBefore || now.final || performance.now() >= untilMs) return now;
        await delay(pollMs);
      }
    },
  },
  {
    name: 'replay',
    title: 'Replay events',
    description: 'Delivers the events in a time range to a webhook again, in the background.',
    schema: takes(
      {
        webhook_id: webhook,
        ...range,
        only_failed: {
          type: 'boolean',
          description:
            'Only events whose latest delivery failed, or that have no delivery. A delivery that is still ' +
            'waiting for a retry is attempted now.',
        },
      },
      'webhook_id',
      'from',
      'to',
    ),
    writes: true,
    run: async (connection, { webhook_id, from, to, only_failed }) => {
      const id = await webhookId(connection, string(webhook_id) ?? '');
      const replay = { from: time(from) ?? '', to: time(to) ?? '', only_failed: only_failed === true };
      return connection.posthorn.webhooks.replay(id, replay);
    },
  },
];

/** Replaces the commands that a message suggests by tools. */
export function inToolWords(text: string): string {
  return text
    .replaceAll(/Run posthorn (webhooks|events|deliveries) list/g, 'Call list_$1')
    .replaceAll(/; posthorn (webhooks|events|deliveries) list shows/g, '; list_$1 shows')
    .replaceAll('Run posthorn types to list all types', 'Call list_event_types to list all types')
    .replaceAll('posthorn webhooks verify for', 'verify_webhook for')
    .replaceAll('then run the command again', 'then call the tool again')
    .replace(' Run posthorn mcp --help to see the options.', '');
}

async function changeStatus(connection: ApiContext, args: Arguments, status: 'active' | 'paused') {
  return connection.posthorn.webhooks.change(await webhookId(connection, string(args.webhook_id) ?? ''), {
    status,
  });
}

function find(connection: ApiContext, { delivery_id }: Arguments): Promise<Delivery> {
  return findDelivery(connection, string(delivery_id) ?? '');
}

function detailOf({ posthorn }: ApiContext, { webhook_id, id }: Delivery): Promise<DeliveryDetail> {
  return posthorn.deliveries.get(webhook_id, id);
}

/** Returns why a delivery waits for its webhook, and what to do about it. */
function heldLines({ webhook_id }: DeliveryDetail, hook: Webhook | undefined): string[] {
  if (hook?.status === 'paused')
    return [`The next attempt is made after the webhook is resumed: call resume_webhook for ${webhook_id}.`];
  const failure = hook?.verification_failure;
  return [
    ...(failure ? [`Why the webhook is unverified: ${failure.error_detail} ${failure.remedy}`] : []),
    `The next attempt is made after the webhook is verified. To verify it, call verify_webhook, or run posthorn webhooks verify ${webhook_id}.`,
  ];
}

function explanation(found: DeliveryDetail, hook: Webhook | undefined): string {
  const last = found.attempt_log.at(-1);
  const lines = [
    `Delivery ${found.id} of ${found.event_type} ${found.event_id} to webhook ${found.webhook_id}: ${statusText(found)}.`,
    ...(hook ? [`The webhook sends to ${hook.url} and is ${hook.status}.`] : ['The webhook was deleted.']),
    ...(isHeld(found) ? heldLines(found, hook) : []),
    ...(last?.error_detail ? [`What happened: ${last.error_detail}`] : []),
    ...(last?.remedy ? [`What to do: ${last.remedy}`] : []),
    ...(last?.response ? [`The receiver responded: ${responseText(last.response)}`] : []),
    ...found.attempt_log.map(
      ({ attempt, attempted_at, http_status, error, duration_ms }) =>
        `Attempt ${attempt} at ${attempted_at}: ${http_status ?? error} after ${duration_ms} ms.`,
    ),
  ];
  if (found.status === 'failed' && found.final)
    lines.push(
      `There will be no further attempts. When the receiver works again, redeliver ${found.id}, or replay a time range.`,
    );
  return lines.join('\n');
}
