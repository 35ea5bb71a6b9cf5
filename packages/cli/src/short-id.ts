import type { Delivery, Event, Webhook } from '@posthorn/client';
import { CommandFailure } from './command.js';
import type { Connection } from './connection.js';

/** How many of the newest events or deliveries are searched for an ending. */
const searched = 1_000;
/** How many pages of deliveries are searched. A page can be short even if there are more. */
const pagesMax = 20;
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ulid = '[0-7][0-9A-HJKMNP-TV-Z]{25}';

/** Returns the ID of the only webhook whose ID has this ending. */
export async function webhookId({ posthorn }: Connection, text: string): Promise<string> {
  if (isWhole('WHK', text)) return text.toUpperCase();
  return (await only<Webhook>('webhook', text, await posthorn.webhooks.list().all())).id;
}

/** Returns the ID of the only event among the newest ones whose ID has this ending. */
export async function eventId(connection: Connection, text: string): Promise<string> {
  if (isWhole('EVT', text)) return text.toUpperCase();
  const organization_id = await connection.organization();
  const events = await connection.posthorn.events.list({ organization_id, limit: 100 }).all(searched);
  return (await only<Event>('event', text, events)).id;
}

/** Returns a delivery by its ID, or by an ending that is unique among the newest deliveries. */
export async function findDelivery({ posthorn }: Connection, text: string): Promise<Delivery> {
  const whole = isWhole('WDLV', text) ? text.toUpperCase() : undefined;
  // The ID of a delivery contains its time, so list only that millisecond.
  const at = whole === undefined ? undefined : new Date(timeOf(whole)).toISOString();
  const { data } = await posthorn.deliveries
    .list({ limit: 100, from: at, to: at })
    .search(searched, pagesMax);
  return only<Delivery>('delivery', whole ?? text, data.slice(0, searched));
}

function isWhole(prefix: string, text: string): boolean {
  return new RegExp(`^${prefix}-${ulid}$`, 'i').test(text);
}

function timeOf(id: string): number {
  const digits = id.slice(id.indexOf('-') + 1, id.indexOf('-') + 11);
  return [...digits].reduce((ms, digit) => ms * 32 + alphabet.indexOf(digit), 0);
}

const plurals = { webhook: 'webhooks', event: 'events', delivery: 'deliveries' } as const;

async function only<Row extends { id: string }>(
  what: keyof typeof plurals,
  text: string,
  rows: readonly Row[],
): Promise<Row> {
  const ending = text.replace(/^…/, '').toUpperCase();
  const found = ending === '' ? [] : rows.filter(({ id }) => id.toUpperCase().endsWith(ending));
  const [first, second] = found;
  const list = `posthorn ${plurals[what]} list`;
  if (!first)
    throw new CommandFailure(`No ${what} has an ID that ends with '${text}'. Run ${list} to see the IDs.`);
  if (second) {
    const some = found.slice(0, 3).map(({ id }) => id);
    throw new CommandFailure(
      `${found.length} ${plurals[what]} have an ID that ends with '${text}': ${some.join(', ')}` +
        `${found.length > some.length ? ', …' : ''}. Use more characters; ${list} shows the IDs.`,
    );
  }
  return first;
}
