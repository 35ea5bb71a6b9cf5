import type { Delivery } from '@posthorn/client';
import { CommandFailure, sets } from '../command.js';
import { type ApiContext, apiCommand, printResult } from '../connection.js';
import { deliveryStates, isHeld, showDelivery, stateOf } from '../delivery-report.js';
import { uncertain } from '../failure.js';
import { exactType, json, listOptions, oneOf, printList } from '../listing.js';
import { progressOf } from '../polling.js';
import { findDelivery, namesOf, onlyWebhook } from '../short-id.js';
import { timeColumn, utcTime } from '../short-time.js';
import type { Column } from '../table.js';
import { noteUnknownType, organization, readsDatabase } from './events.js';

const argument = {
  name: 'id',
  description: 'Delivery ID, WDLV-…, or enough of its ending to be unique.',
} as const;

export const deliveriesList = apiCommand({
  name: 'deliveries list',
  summary: 'List deliveries with at least one attempt, newest first.',
  options: {
    organization,
    webhook: onlyWebhook,
    event: sets(
      'event_id',
      'id',
      'Only deliveries of this event, including those that are waiting for their first attempt.',
    ),
    type: sets('event_type', 'type', 'Only deliveries of events of this type.', exactType),
    status: {
      field: 'status',
      ...oneOf(...(Object.keys(deliveryStates) as (keyof typeof deliveryStates)[])),
      description:
        'Only deliveries with this status. A failed delivery is either retrying (another attempt follows) or given_up.',
    },
    ...listOptions,
  },
  readsDatabase,
  run: async (context) => {
    const { options, terminal, posthorn, fields } = context;
    const state = deliveryStates[fields.status as keyof typeof deliveryStates];
    await noteUnknownType(context, fields.event_type);
    const { event_id, organization_id: _, ...others } = fields;
    const onlyEvent = event_id !== undefined && Object.keys(others).length === 0;
    // Only the table for people shows names.
    const hasNames = terminal.isInteractive && !options.json;
    const nameOf = namesOf(hasNames ? await posthorn.webhooks.list().all() : []);
    await printList(context, {
      list: (limit) =>
        onlyEvent
          ? posthorn.events.deliveries(event_id, { limit })
          : posthorn.deliveries.list({ ...fields, ...state, limit }),
      columns: columnsWith(nameOf),
      what: 'deliveries',
      noteOn: (deliveries) => heldNote(deliveries, nameOf),
    });
    if (onlyEvent && !options.json) await noteMissing(context, event_id);
  },
});

/** Says which webhooks did not get an event, why, and how to send it to them. */
async function noteMissing({ terminal, posthorn }: ApiContext, eventId: string): Promise<void> {
  const { notDelivered = [] } = await posthorn.events.deliveries(eventId, { limit: 1 }).first();
  if (notDelivered.length === 0) return;
  const { created_at: at } = await posthorn.events.get(eventId);
  for (const { webhook_id, reason, detail } of notDelivered) {
    terminal.note(`Not delivered to ${webhook_id} (${reason}): ${detail}`);
    if (!neverSent.includes(reason))
      terminal.note(
        `  To send it: posthorn deliveries replay --webhook ${webhook_id} --from ${at} --to ${at}`,
      );
  }
}

/** The reasons that hold for a replay, too, unless the webhook is changed. */
const neverSent = ['other_workspace', 'about_itself', 'not_subscribed', 'filtered'];

type NameOf = (id: string) => string;

/** Returns a note if some deliveries wait until their webhook is active. It names webhooks as the table does. */
function heldNote(deliveries: readonly Delivery[], nameOf: NameOf): string | undefined {
  const webhooks = [...new Set(deliveries.filter(isHeld).map(({ webhook_id }) => webhook_id))];
  const [first] = webhooks;
  if (first === undefined) return undefined;
  const names = webhooks.map(nameOf).join(', ');
  const what = webhooks.length === 1 ? 'the webhook is' : 'these webhooks are';
  return `Deliveries to ${names} are waiting until ${what} verified or resumed. Next: posthorn webhooks get ${first}`;
}

const columnsWith = (nameOf: NameOf): readonly Column<Delivery>[] => [
  timeColumn('time', ({ created_at }) => created_at),
  { title: 'status', of: stateOf },
  { title: 'result', of: resultOf },
  { title: 'type', of: ({ event_type }) => event_type, spare: 2, cuts: true },
  { title: 'attempts', of: ({ attempts }) => String(attempts), spare: 3 },
  { title: 'ms', of: ({ duration_ms }) => String(duration_ms ?? '-'), spare: 4 },
  {
    title: 'webhook',
    of: ({ webhook_id }) => webhook_id,
    short: ({ webhook_id }) => nameOf(webhook_id),
    spare: 1,
    cuts: true,
  },
  { title: 'event', of: ({ event_id }) => event_id, spare: 5 },
  { title: 'id', of: ({ id }) => id },
];

function resultOf({ http_status, error }: Delivery): string {
  // A delivery that ended because its webhook was disabled also has the status of its last attempt.
  return String(error === 'disabled' ? error : (http_status ?? error ?? '-'));
}

export const deliveriesGet = apiCommand({
  name: 'deliveries get',
  summary: 'Show a delivery: why it failed and what to do, every attempt, the request and the response.',
  argument,
  options: { organization, json },
  readsDatabase,
  run: async (context) => {
    const { posthorn, options, terminal } = context;
    const { webhook_id, id } = await findDelivery(context, context.argument);
    const delivery = await posthorn.deliveries.get(webhook_id, id);
    const later = options.json ? undefined : await laterThan(delivery, context);
    printResult(context, delivery, () => showDelivery(terminal, delivery, later));
  },
});

/** Returns the newest delivery of the same event to the same webhook if this one was given up and repeated since. */
async function laterThan(delivery: Delivery, { posthorn }: ApiContext): Promise<Delivery | undefined> {
  if (stateOf(delivery) !== 'given_up') return undefined;
  const list = posthorn.events.deliveries(delivery.event_id, { limit: 100 });
  // The event may have expired, and a token without events:read cannot list its deliveries.
  const { data } = await list.first().catch(() => ({ data: [] }));
  return data.find(
    ({ webhook_id, created_at }) => webhook_id === delivery.webhook_id && created_at > delivery.created_at,
  );
}

export const deliveriesRedeliver = apiCommand({
  name: 'deliveries redeliver',
  summary:
    'Deliver an event again, and wait for the result. A delivery that is waiting for a retry is attempted now, in addition to its scheduled attempts.',
  argument,
  options: { 'no-wait': { description: 'Do not wait for the attempt.' }, json },
  run: async (context) => {
    const { options, terminal, argument, posthorn } = context;
    const given = await findDelivery(context, argument);
    const { id } = await posthorn.deliveries.redeliver(given.webhook_id, given.id).catch((error) => {
      const maybe = 'The event may be on its way again. A second request could deliver it twice.';
      const look = `Run posthorn deliveries list --event ${given.event_id} to see its deliveries.`;
      throw uncertain(error, deliveriesRedeliver, `${maybe} ${look}`);
    });
    // A delivery that is attempted again keeps its ID and gets one more attempt.
    const attemptsBefore = id === given.id ? given.attempts : 0;
    const started = `Redelivering ${given.event_type} ${given.event_id} as ${id}.`;
    if (!options.json) terminal.line(started);
    else if (!options['no-wait']) terminal.note(started);
    if (options['no-wait']) {
      if (options.json) terminal.line(JSON.stringify({ id }));
      return;
    }
    const delivery = await attempted(context, { ...given, id }, attemptsBefore);
    const { status, http_status, duration_ms, attempts } = delivery;
    printResult(context, delivery, () => {
      if (status !== 'success') return;
      const verdict = terminal.paint('green', 'success');
      terminal.line(`${verdict}: ${http_status} in ${duration_ms} ms, attempt ${attempts}`);
    });
    if (status === 'failed')
      throw new CommandFailure(
        `The receiver did not accept attempt ${attempts} (${resultOf(delivery)}). ${nextAttempt(delivery)} ` +
          `Run posthorn deliveries get ${id} to see why.`,
      );
  },
});

/** Returns when the next attempt follows. */
function nextAttempt(delivery: Delivery): string {
  const { next_attempt_at: next, webhook_id } = delivery;
  if (isHeld(delivery))
    return `The next attempt is made after the webhook is verified or resumed: run posthorn webhooks get ${webhook_id}.`;
  return next ? `The next attempt is at ${utcTime(next)}.` : 'That was the last attempt.';
}

const pollMs = 250;

/** Waits until the next attempt has been made, and returns the delivery. */
async function attempted(
  { terminal, posthorn }: ApiContext,
  { webhook_id, id }: Delivery,
  attemptsBefore: number,
) {
  for (;;) {
    const delivery = await progressOf(
      terminal,
      () => posthorn.deliveries.get(webhook_id, id),
      `The delivery ${id} has started and will continue. Run posthorn deliveries get ${id} to see its result.`,
    );
    if (delivery.attempts > attemptsBefore || delivery.final) return delivery;
    if (isHeld(delivery))
      throw new CommandFailure(
        `The webhook is unverified or paused, so the delivery is waiting. Run posthorn webhooks get ${webhook_id}.`,
      );
    terminal.status(terminal.paint('dim', 'Waiting for the receiver…'));
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
