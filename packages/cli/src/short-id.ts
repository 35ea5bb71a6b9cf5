import { type Delivery, PosthornError, type Webhook } from '@posthorn/client';
import { CommandFailure, sets, shellWord } from './command.js';
import type { ApiContext, Connection } from './connection.js';

/** How many of the newest events or deliveries are searched for an ending. */
const searched = 1_000;
/** How many pages of deliveries are searched. A page can be short even if there are more. */
const pagesMax = 20;
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ulid = '[0-7][0-9A-HJKMNP-TV-Z]{25}';

/** The option of lists that can be restricted to one webhook. */
export const onlyWebhook = sets(
  'webhook_id',
  'id',
  'Only deliveries to this webhook; its description, or a unique ending of its ID, is enough.',
);

/** Returns the ID of the only webhook that has this description, or else of the only one whose ID has this ending. */
export async function webhookId({ posthorn }: Connection, text: string): Promise<string> {
  if (isFullId('WHK', text)) return text.toUpperCase();
  const webhooks = await posthorn.webhooks.list().all();
  const described = text === '' ? [] : webhooks.filter(({ description }) => description === text);
  const [first, second] = described;
  if (!first) return onlyWithEnding('webhook', text, webhooks).id;
  if (!second) return first.id;
  const found = described.map(({ id, url }) => `${id} (${url})`);
  throw several(found, `webhooks have the description '${text}'`, 'Use the ID of one of them.');
}

/** Returns the ID of the only event among the newest ones whose ID has this ending. */
export async function eventId(
  { posthorn, organization, options }: ApiContext,
  text: string,
): Promise<string> {
  if (isFullId('EVT', text)) return text.toUpperCase();
  const organization_id = await organization();
  const events = await posthorn.events.list({ organization_id, limit: 100 }).all(searched);
  const given = options.organization;
  const list = `posthorn events list${given === undefined ? '' : ` --organization ${shellWord(given)}`}`;
  return onlyWithEnding('event', text, events, list).id;
}

/** Returns a delivery by its ID, or by an ending that is unique among the newest attempted deliveries. */
export async function findDelivery(connection: Connection, text: string): Promise<Delivery> {
  const { deliveries } = connection.posthorn;
  if (!isFullId('WDLV', text)) {
    const { data } = await deliveries.list({ limit: 100 }).search(searched, pagesMax);
    return onlyWithEnding('delivery', text, data.slice(0, searched));
  }
  const id = text.toUpperCase();
  // The ID of a delivery contains its time, so list only that millisecond.
  const at = new Date(timeOf(id)).toISOString();
  const { data } = await deliveries.list({ limit: 100, from: at, to: at }).search(searched, pagesMax);
  const found = data.find((delivery) => delivery.id === id) ?? (await waitingDelivery(connection, id));
  if (found) return found;
  throw new CommandFailure(`No delivery has the ID ${id}. Run posthorn deliveries list to see the IDs.`);
}

/** Looks for a delivery at each webhook: the list omits a delivery that is waiting for its first attempt. */
async function waitingDelivery({ posthorn }: Connection, id: string): Promise<Delivery | undefined> {
  for await (const webhook of posthorn.webhooks.list({ limit: 100 })) {
    try {
      return await posthorn.deliveries.get(webhook.id, id);
    } catch (error) {
      if (!(error instanceof PosthornError) || error.status !== 404) throw error;
    }
  }
  return undefined;
}

/**
 * Returns a function from the ID of a webhook to its shortest name that commands accept: a description that no other
 * webhook has, or else the ending of the ID.
 */
export function namesOf(webhooks: readonly Webhook[]): (id: string) => string {
  const counts = new Map<string | null, number>();
  for (const { description } of webhooks) counts.set(description, (counts.get(description) ?? 0) + 1);
  const named = webhooks.filter(({ description }) => description?.trim() && counts.get(description) === 1);
  const names = new Map(named.map(({ id, description }) => [id, description]));
  return (id) => names.get(id) ?? `…${id.slice(-6)}`;
}

/** Returns whether this is a full ID, not only an ending. */
function isFullId(prefix: string, text: string): boolean {
  return new RegExp(`^${prefix}-${ulid}$`, 'i').test(text);
}

function timeOf(id: string): number {
  const digits = id.slice(id.indexOf('-') + 1, id.indexOf('-') + 11);
  return [...digits].reduce((ms, digit) => ms * 32 + alphabet.indexOf(digit), 0);
}

const plurals = { webhook: 'webhooks', event: 'events', delivery: 'deliveries' } as const;

/** Returns the only row whose ID has this ending. `list` is the command that shows the IDs. */
function onlyWithEnding<Row extends { id: string }>(
  what: keyof typeof plurals,
  text: string,
  rows: readonly Row[],
  list = `posthorn ${plurals[what]} list`,
): Row {
  const ending = text.replace(/^…/, '').toUpperCase();
  const found = ending === '' ? [] : rows.filter(({ id }) => id.toUpperCase().endsWith(ending));
  const [first, second] = found;
  if (!first) {
    const described = what === 'webhook' ? `the description '${text}' or ` : '';
    throw new CommandFailure(
      `No ${what} has ${described}an ID that ends with '${text}'. Run ${list} to see the IDs.`,
    );
  }
  if (!second) return first;
  const ids = found.map(({ id }) => id);
  const advice = `Use more characters; ${list} shows the IDs.`;
  throw several(ids, `${plurals[what]} have an ID that ends with '${text}'`, advice);
}

/** How many of the rows that an ending or a description may mean are named. */
const shownMax = 3;

function several(found: readonly string[], what: string, advice: string): CommandFailure {
  const rest = found.length > shownMax ? ', …' : '';
  return new CommandFailure(
    `${found.length} ${what}: ${found.slice(0, shownMax).join(', ')}${rest}. ${advice}`,
  );
}
