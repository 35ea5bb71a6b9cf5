import { type Delivery, type DeliveryDetail, PosthornError, type Webhook } from '@posthorn/client';
import type { Connection } from './connection.js';
import { statusText } from './delivery-report.js';
import { isHeld } from './delivery-state.js';
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
  run: (connection: Connection, args: Arguments) => Promise<string | object>;
}

const text = (description: string) => ({ type: 'string', description });
const limit = {
  type: 'integer',
  minimum: 1,
  maximum: 100,
  description: 'Maximum number of results. Default: 20.',
};
/** How many pages of deliveries one call searches: about a second for a million deliveries. */
const pagesMax = 20;
const webhook = text('Webhook ID (WHK-…), or enough of its ending to be unique, or its description.');
const delivery = text('Delivery ID (WDLV-…), or enough of its ending to be unique.');
const range = {
  from: text('Start of the time range: a date (a day in UTC), or a time with Z or an offset.'),
  to: text('End of the time range: a date (a day in UTC), or a time with Z or an offset.'),
};

function takes(properties: Record<string, object>, ...required: string[]): Tool['schema'] {
  return { type: 'object', properties, required, additionalProperties: false };
}

const string = (value: unknown) => (typeof value === 'string' ? value : undefined);
const count = (value: unknown) => (typeof value === 'number' ? value : 20);

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
    }),
    writes: false,
    run: async ({ posthorn, organization }, { type, subject_id, from, to, limit: wanted }) => {
      const max = count(wanted);
      const query = {
        organization_id: await organization(),
        limit: max,
        type: string(type),
        subject_id: string(subject_id),
      };
      return posthorn.events.list({ ...query, from: string(from), to: string(to) }).all(max);
    },
  },
  {
    name: 'get_event',
    title: 'Get an event',
    description: 'Returns one event with its payload, and its deliveries to all webhooks.',
    schema: takes({ event_id: text('Event ID (EVT-…), or enough of its ending to be unique.') }, 'event_id'),
    writes: false,
    run: async (connection, { event_id }) => {
      const id = await eventId(connection, string(event_id) ?? '');
      const event = await connection.posthorn.events.get(id);
      return { event, deliveries: await connection.posthorn.events.deliveries(id, { limit: 100 }).all(100) };
    },
  },
  {
    name: 'list_event_types',
    title: 'List event types',
    description:
      'Lists the event types. With `type`, returns only that type, with its JSON Schema and a sample payload.',
    schema: takes({ type: text('One event type, such as invoice.paid.') }),
    writes: false,
    run: async ({ posthorn }, { type }) => {
      const types = await posthorn.eventTypes.list().all();
      if (type !== undefined) return types.filter((one) => one.type === type);
      return types.map(({ type, description }) => ({ type, description }));
    },
  },
  {
    name: 'list_webhooks',
    title: 'List webhooks',
    description:
      'Lists the webhooks: URL, status, event types, result of the last delivery, and why a webhook is unverified.',
    schema: takes({}),
    writes: false,
    run: ({ posthorn }) => posthorn.webhooks.list().all(),
  },
  {
    name: 'get_webhook',
    title: 'Get a webhook',
    description: 'Returns one webhook with its statistics for the last 48 hours.',
    schema: takes({ webhook_id: webhook }, 'webhook_id'),
    writes: false,
    run: async (connection, args) => {
      const id = await webhookId(connection, string(args.webhook_id) ?? '');
      const { posthorn } = connection;
      return { webhook: await posthorn.webhooks.get(id), last_48_hours: await posthorn.webhooks.stats(id) };
    },
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
    }),
    writes: false,
    run: async (connection, { webhook_id, status, event_type, from, to, limit: wanted }) => {
      const max = count(wanted);
      const only = string(webhook_id);
      const query = {
        webhook_id: only && (await webhookId(connection, only)),
        status: string(status) as 'success' | 'failed' | undefined,
        event_type: string(event_type),
        from: string(from),
        to: string(to),
        limit: max,
      };
      const { data, searchedTo } = await connection.posthorn.deliveries.list(query).search(max, pagesMax);
      if (data.length >= max || searchedTo === undefined) return data.slice(0, max);
      const note =
        'Older deliveries were not searched. To search them, call this again with `to` set to searched_to.';
      return { deliveries: data, searched_to: searchedTo, note };
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
      'Delivers an event again, given the ID of a delivery. A delivery that is still waiting for a retry ' +
      'is attempted now.',
    schema: takes({ delivery_id: delivery }, 'delivery_id'),
    writes: true,
    run: async (connection, args) => {
      const { webhook_id, id } = await find(connection, args);
      return connection.posthorn.deliveries.redeliver(webhook_id, id);
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
      const replay = { from: string(from) ?? '', to: string(to) ?? '', only_failed: only_failed === true };
      return connection.posthorn.webhooks.replay(id, replay);
    },
  },
];

function find(connection: Connection, { delivery_id }: Arguments): Promise<Delivery> {
  return findDelivery(connection, string(delivery_id) ?? '');
}

function detailOf({ posthorn }: Connection, { webhook_id, id }: Delivery): Promise<DeliveryDetail> {
  return posthorn.deliveries.get(webhook_id, id);
}

/** Returns why a delivery waits for its webhook, and what to do about it. */
function heldLines({ webhook_id }: DeliveryDetail, hook: Webhook | undefined): string[] {
  if (hook?.status === 'paused')
    return [
      `The next attempt is made after the webhook is resumed: run posthorn webhooks resume ${webhook_id}.`,
    ];
  const failure = hook?.verification_failure;
  return [
    ...(failure ? [`Why the webhook is unverified: ${failure.error_detail} ${failure.remedy}`] : []),
    `The next attempt is made after the webhook is verified. To verify it, run posthorn webhooks verify ${webhook_id}.`,
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
