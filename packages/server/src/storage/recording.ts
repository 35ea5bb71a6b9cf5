import type { NewEvent } from '../domain/event.js';
import { arrayText } from './array-text.js';
import type { Queryable } from './database.js';
import { jsonArray } from './json-array.js';
import type { LeasedDelivery } from './leased-delivery.js';

export interface RecordedEvent {
  id: string;
  created_at: Date;
}

/** Where new deliveries go: to this node, except those of webhooks that have enough to do there. */
export interface Placement {
  node: number | null;
  saturated: readonly string[];
  /** How many may go there at most. */
  room?: number;
}

/** Deliveries of one webhook that are in the database for any node: in rows, or in bundles. */
export interface LeftShare {
  webhook_id: string;
  bundled: boolean;
}

/** What a notification tells of; nothing in particular where it names nobody. */
export function announcedShares(payload: string): readonly LeftShare[] {
  const names = payload.split(' ').filter((name) => name !== '');
  return names.map((name) => {
    const bundled = name.endsWith('+');
    return { webhook_id: bundled ? name.slice(0, -1) : name, bundled };
  });
}

export interface RecordedBatch {
  /** One for each event, in order. */
  events: readonly RecordedEvent[];
  /** Deliveries that were born leased to the node of the placement. */
  leased: readonly LeasedDelivery[];
  placement: Placement;
  /** What the node of the placement did not get. */
  left: readonly LeftShare[];
  /** Whose events they are. */
  organizations: ReadonlySet<string>;
}

/** Events to be recorded, and the text of each one's payload, which is stored as it is. */
export interface NewBatch {
  events: readonly (NewEvent & { undelivered?: boolean })[];
  payloads: readonly string[];
}

export function batchOf(events: NewBatch['events']): NewBatch {
  return { events, payloads: events.map(({ payload }) => JSON.stringify(payload)) };
}

/** Whether one of them brings an idempotency key. */
export function isKeyed({ events }: NewBatch): boolean {
  return events.some((event) => event.idempotency_key !== undefined);
}

/** How the identifiers begin, and from which number they count. */
interface HeadRow {
  id: string;
  created_at: Date;
  zero: number | string;
}

/** An event that was recorded before, under the same idempotency key. */
interface KnownRow {
  ordinal: number | string;
  id: string;
  created_at: Date;
  webhook_id: null;
}

/** Of one webhook, deliveries that were born leased: of which events, counted from one. Null: they were left. */
interface ShareRow {
  webhook_id: string;
  zero: number;
  ordinals: number[] | null;
  bundled: boolean;
}

/** Records a batch, in the transaction of `client`. */
export async function recordBatch(
  client: Queryable,
  batch: NewBatch,
  placement: Placement = { node: null, saturated: [] },
): Promise<RecordedBatch> {
  const { events, payloads } = batch;
  const column = (read: (event: NewBatch['events'][number]) => string | null | undefined) =>
    arrayText(events, read);
  const { rows } = await client.query<HeadRow | KnownRow | ShareRow>({
    name: 'record batch',
    text: 'select * from posthorn.record_and_place($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)',
    values: [
      column(({ type }) => type),
      column((event) => event.organization_id),
      column((event) => event.workspace_id),
      column(({ actor }) => actor.type),
      column(({ actor }) => actor.id),
      column(({ subject }) => subject.type),
      column(({ subject }) => subject.id),
      isKeyed(batch) ? column((event) => event.idempotency_key) : null,
      events.some(isUndelivered) ? column((event) => String(isUndelivered(event))) : null,
      jsonArray(payloads),
      placement.node,
      placement.saturated,
      placement.room ?? null,
    ],
    leases: placement.node !== null,
  });
  const [head, ...others] = rows as [HeadRow, ...(KnownRow | ShareRow)[]];
  const { id: start, created_at } = head;
  const recorded: RecordedEvent[] = [];
  const zero = Number(head.zero);
  for (let ordinal = 1; ordinal <= events.length; ordinal += 1) {
    recorded.push({ id: numbered(`EVT-${start}`, zero + ordinal), created_at });
  }
  const leased: LeasedDelivery[] = [];
  const left: ShareRow[] = [];
  const texts = new PayloadTexts(payloads);
  for (const row of others) {
    if (row.webhook_id !== null) {
      if (row.ordinals === null) left.push(row);
      else bornLeased({ ...row, ordinals: row.ordinals }, head, batch, texts, recorded, leased);
    } else recorded[Number(row.ordinal) - 1] = { id: row.id, created_at: row.created_at };
  }
  const organizations = new Set(events.map((event) => event.organization_id));
  return { events: recorded, leased, placement, left, organizations };
}

const isUndelivered = (event: NewBatch['events'][number]) => event.undelivered === true;

function bornLeased(
  { webhook_id, zero, ordinals, bundled }: ShareRow & { ordinals: number[] },
  { id: head, created_at }: HeadRow,
  { events }: NewBatch,
  texts: PayloadTexts,
  recorded: readonly RecordedEvent[],
  leased: LeasedDelivery[],
): void {
  const { organization_id } = events[ordinals[0]! - 1]!;
  const bundle = bundled
    ? { organization_id, webhook_id, created_at, head, open: ordinals.length }
    : undefined;
  for (let place = 1; place <= ordinals.length; place += 1) {
    const index = ordinals[place - 1]! - 1;
    const event = events[index]!;
    leased.push({
      organization_id,
      webhook_id,
      delivery_created_at: created_at,
      delivery_id: numbered(`WDLV-${head}`, zero + place),
      attempts: 0,
      event_id: recorded[index]!.id,
      type: event.type,
      event_created_at: created_at,
      workspace_id: event.workspace_id ?? null,
      payload: texts.at(index),
      bundle,
    });
  }
}

/**
 * A payload is a part of its request's text, which it would keep in memory as long as a delivery waits. So
 * each has a copy, one for all of an event's deliveries, however many there are.
 */
class PayloadTexts {
  readonly #parts: readonly string[];
  readonly #copies: string[] = [];

  constructor(parts: readonly string[]) {
    this.#parts = parts;
  }

  at(index: number): string {
    this.#copies[index] ??= Buffer.from(this.#parts[index]!).toString();
    return this.#copies[index];
  }
}

const lowDigits = 2 ** 20;

/**
 * As in the database: the number follows as ten hexadecimal digits. In two halves, each of which is small
 * enough for the fast way of writing numbers.
 */
function numbered(start: string, number: number): string {
  const low = number % lowDigits;
  const high = (number - low) / lowDigits;
  return start + high.toString(16).toUpperCase() + (lowDigits + low).toString(16).slice(1).toUpperCase();
}

/** A `pg` client with a transaction open on it. */
export interface TransactionClient {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Records events in the transaction of somebody else's `pg` client, without looking into them. */
export async function recordEvents(
  client: TransactionClient,
  events: readonly NewEvent[],
): Promise<readonly RecordedEvent[]> {
  if (events.length === 0) return [];
  const { rows } = await client.query('select id, created_at from posthorn.record_events($1)', [
    JSON.stringify(events),
  ]);
  return rows as RecordedEvent[];
}
