import { setTimeout as delay } from 'node:timers/promises';
import * as client from '@posthorn/client';
import type { Fields } from './command.js';
import { unknownType } from './commands/types.js';
import type { ApiContext } from './connection.js';
import { isHeld, statusText } from './delivery-report.js';
import { instant } from './listing.js';
import { responseText } from './response-text.js';
import { findDelivery } from './short-id.js';

/** A tool for agents. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  /** The JSON Schemas of the arguments that it needs, and of those that it also takes. */
  needs?: Readonly<Record<string, object>>;
  takes?: Readonly<Record<string, object>>;
  /** Whether it changes something or causes a request to a receiver. */
  writes?: true;
  /**
   * Returns what the agent gets: text, or a value that is sent as JSON. The arguments fit the schemas, and IDs of
   * webhooks and events are complete.
   */
  run: (context: ApiContext, args: Fields) => Promise<string | object>;
}

const text = (description: string) => ({ type: 'string', description });
const outcomeMsMax = 10_000;
const pollMs = 250;
/** How many pages of deliveries one call searches: about a second for a million deliveries. */
const pagesMax = 20;
const webhook = {
  webhook_id: text('Webhook ID (WHK-…), or enough of its ending to be unique, or its description.'),
};
const delivery = { delivery_id: text('Delivery ID (WDLV-…), or enough of its ending to be unique.') };
const range = {
  from: text(`Start of the time range: ${instant}`),
  to: text(`End of the time range: ${instant}`),
};
const page = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    description: 'Maximum number of results. Default: 20.',
  },
  cursor: text(
    'The cursor of the previous result, to continue after it. The other arguments must be the same.',
  ),
};

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
  { limit: max = 20, cursor: start = null }: Fields,
  list: (page: { limit: number; cursor: string | undefined }) => client.List<Row>,
): Promise<Items> {
  const items: Row[] = [];
  let page: client.Page<Row> = { data: items, cursor: start, hasMore: true };
  for (let pages = 0; page.hasMore && items.length < max && pages < pagesMax; pages += 1) {
    page = await list({ limit: max - items.length, cursor: page.cursor ?? undefined }).first();
    items.push(...page.data);
  }
  if (!page.hasMore) return complete(items);
  const found = { items, has_more: true, cursor: page.cursor };
  if (items.length >= max) return found;
  const note = 'Older deliveries were not searched. To search them, call this again with the cursor.';
  return { ...found, ...(page.searchedTo !== undefined && { searched_to: page.searchedTo }), note };
}

/** Adds a note to an empty list if its type is unknown, which is most likely a typo. */
async function noted({ posthorn }: ApiContext, type: string | undefined, found: Items): Promise<Items> {
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
    takes: {
      type: text('Only this event type.'),
      subject_id: text('Only events about this subject.'),
      ...range,
      ...page,
    },
    run: async (context, args) => {
      const query = { ...args, organization_id: await context.organization() };
      const found = await itemsOf(args, (page) => context.posthorn.events.list({ ...query, ...page }));
      return noted(context, args.type, found);
    },
  },
  {
    name: 'get_event',
    title: 'Get an event',
    description:
      'Returns one event with its payload, its deliveries to all webhooks, and why the other webhooks did not get it ' +
      '(`not_delivered`). To send it to one of them, call replay with `from` and `to` set to its created_at.',
    needs: { event_id: text('Event ID (EVT-…), or enough of its ending to be unique.') },
    run: async ({ posthorn: { events } }, { event_id }) => {
      const event = await events.get(event_id);
      const { data, notDelivered = [] } = await events.deliveries(event_id, { limit: 100 }).first();
      return { event, deliveries: data, not_delivered: notDelivered };
    },
  },
  {
    name: 'list_event_types',
    title: 'List event types',
    description:
      'Lists the event types. With `type`, returns only that type, with its JSON Schema and a sample payload.',
    takes: { type: text('One event type.') },
    run: async (context, { type: wanted }) => {
      const types = await context.posthorn.eventTypes.list().all();
      if (wanted === undefined)
        return complete(types.map(({ type, description }) => ({ type, description })));
      return noted(context, wanted, complete(types.filter(({ type }) => type === wanted)));
    },
  },
  {
    name: 'list_webhooks',
    title: 'List webhooks',
    description:
      'Lists the webhooks: URL, status, event types, result of the last delivery, and why a webhook is unverified.',
    run: async ({ posthorn }) => complete(await posthorn.webhooks.list().all()),
  },
  {
    name: 'get_webhook',
    title: 'Get a webhook',
    description:
      'Returns one webhook with its statistics for the last 48 hours: the totals, and the hours in which deliveries ended.',
    needs: webhook,
    run: async ({ posthorn: { webhooks } }, { webhook_id }) => {
      const { hours, ...totals } = await webhooks.stats(webhook_id);
      const busy = hours.filter(({ success, failed }) => success + failed > 0);
      return { webhook: await webhooks.get(webhook_id), last_48_hours: { ...totals, hours: busy } };
    },
  },
  {
    name: 'preview_webhook',
    title: 'Preview a webhook',
    description:
      'Returns which events of the last 24 hours, or of a time range, a webhook with these event types and this ' +
      'filter would have got: counts, and the newest events. Changes nothing.',
    needs: {
      event_types: { type: 'array', items: { type: 'string' }, description: 'Event types, or ["*"].' },
    },
    takes: {
      filter: {
        type: 'object',
        description: 'The filter, such as {"payload": {"currency": ["EUR"], "amount": [{"gte": 1000}]}}.',
      },
      ...range,
    },
    run: async ({ posthorn, organization }, { event_types, ...others }) =>
      posthorn.webhooks.preview({ ...others, event_types, organization_id: await organization() }),
  },
  {
    name: 'list_deliveries',
    title: 'List deliveries',
    description:
      'Lists deliveries with at least one attempt, newest first. To find failures, set `status` to `failed`.',
    takes: {
      ...webhook,
      status: { enum: ['success', 'failed'], description: 'Only deliveries with this status.' },
      event_type: text('Only deliveries of this event type.'),
      ...range,
      ...page,
    },
    run: async (context, args) => {
      const found = await itemsOf(args, (page) => context.posthorn.deliveries.list({ ...args, ...page }));
      return noted(context, args.event_type, found);
    },
  },
  {
    name: 'get_delivery',
    title: 'Get a delivery',
    description: 'Returns a delivery with all attempts, the request and the response of the receiver.',
    needs: delivery,
    run: async (context, args) => detailOf(context, await findDelivery(context, args.delivery_id)),
  },
  {
    name: 'explain_delivery',
    title: 'Explain a delivery',
    description: 'Explains why a delivery failed, what to do about it, and what happens next.',
    needs: delivery,
    run: async (context, args) => {
      const found = await findDelivery(context, args.delivery_id);
      const hook = await context.posthorn.webhooks.get(found.webhook_id).catch((error) => {
        if (error instanceof client.PosthornError && error.status === 404) return undefined;
        throw error;
      });
      return explanation(await detailOf(context, found), hook);
    },
  },
  {
    name: 'verify_webhook',
    title: 'Verify a webhook',
    description:
      'Sends a verification request to the URL of a webhook, and returns the webhook. If its status is still not ' +
      '`active`, `verification_failure` says why.',
    needs: webhook,
    writes: true,
    run: ({ posthorn }, { webhook_id }) => posthorn.webhooks.verify(webhook_id),
  },
  {
    name: 'pause_webhook',
    title: 'Pause a webhook',
    description: 'Pauses an active webhook: nothing is sent, and its deliveries wait for `resume_webhook`.',
    needs: webhook,
    writes: true,
    run: ({ posthorn }, { webhook_id }) => posthorn.webhooks.change(webhook_id, { status: 'paused' }),
  },
  {
    name: 'resume_webhook',
    title: 'Resume a webhook',
    description: 'Resumes a paused webhook: what waits is sent, oldest first. Verifies any other webhook.',
    needs: webhook,
    writes: true,
    run: ({ posthorn }, { webhook_id }) => posthorn.webhooks.change(webhook_id, { status: 'active' }),
  },
  {
    name: 'test_webhook',
    title: 'Send a test event',
    description: 'Sends a test event to a webhook, and returns the response of the receiver.',
    needs: { ...webhook, event_type: text('Event type to send.') },
    writes: true,
    run: ({ posthorn }, { webhook_id, event_type }) => posthorn.webhooks.test(webhook_id, { event_type }),
  },
  {
    name: 'redeliver',
    title: 'Redeliver an event',
    description:
      'Delivers an event again, given the ID of a delivery, and returns the delivery with the outcome of the attempt. ' +
      'Waits 10 seconds at most: after that, call get_delivery. A delivery that is still waiting for a retry is ' +
      'attempted now.',
    needs: delivery,
    writes: true,
    run: async (context, args) => {
      const given = await findDelivery(context, args.delivery_id);
      const { id } = await context.posthorn.deliveries.redeliver(given.webhook_id, given.id);
      const attemptsBefore = id === given.id ? given.attempts : 0;
      const untilMs = performance.now() + outcomeMsMax;
      for (;;) {
        const now = await detailOf(context, { ...given, id });
        if (now.attempts > attemptsBefore || now.final || performance.now() >= untilMs) return now;
        await delay(pollMs);
      }
    },
  },
  {
    name: 'replay',
    title: 'Replay events',
    description: 'Delivers the events in a time range to a webhook again, in the background.',
    needs: { ...webhook, ...range },
    takes: {
      only_failed: {
        type: 'boolean',
        description:
          'Only events whose latest delivery failed, or that have no delivery. A delivery that is still ' +
          'waiting for a retry is attempted now.',
      },
    },
    writes: true,
    run: ({ posthorn }, { webhook_id, from, to, only_failed = false }) =>
      posthorn.webhooks.replay(webhook_id, { from, to, only_failed }),
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

function detailOf(
  { posthorn }: ApiContext,
  { webhook_id, id }: client.Delivery,
): Promise<client.DeliveryDetail> {
  return posthorn.deliveries.get(webhook_id, id);
}

/** Returns why a delivery waits for its webhook, and what to do about it. */
function heldLines({ webhook_id }: client.DeliveryDetail, hook: client.Webhook | undefined): string[] {
  if (hook?.status === 'paused')
    return [`The next attempt is made after the webhook is resumed: call resume_webhook for ${webhook_id}.`];
  const failure = hook?.verification_failure;
  return [
    ...(failure ? [`Why the webhook is unverified: ${failure.error_detail} ${failure.remedy}`] : []),
    `The next attempt is made after the webhook is verified. To verify it, call verify_webhook, or run posthorn webhooks verify ${webhook_id}.`,
  ];
}

function explanation(found: client.DeliveryDetail, hook: client.Webhook | undefined): string {
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
