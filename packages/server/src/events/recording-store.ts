import { arrayText, jsonArray } from '../postgres/arrays.js';
import type { Queryable } from '../postgres/database.js';
import { idTimeMs, type Reference } from '../values/identifier.js';
import type { NewEvent } from './event.js';

/**
 * Deliveries that share one row until each of them is settled and gets its own: a hand-off, or a claimed row of the
 * backlog.
 */
export interface OpenGroup {
  /** What all IDs of the recording share after their prefix. */
  head: string;
  /** The rest of its key in the backlog; undefined for a hand-off. */
  backlogKey: { organization_id: string; webhook_id: string; created_at: Date; first: number } | undefined;
  /** How many deliveries are not settled yet. */
  open: number;
}

/** A delivery in a node's memory, with everything needed to attempt it. */
export interface LeasedDelivery {
  organization_id: string;
  webhook_id: string;
  delivery_created_at: Date;
  delivery_id: string;
  /** Attempts made so far. */
  attempts: number;
  /** Which attempt of the schedule follows, from 1. Null if the next attempt is an extra one. */
  scheduled: number | null;
  event_id: string;
  type: string;
  event_created_at: Date;
  workspace_id: string | null;
  actor: Reference;
  subject: Reference;
  /** Null if retention deleted the event while the delivery was waiting. */
  payload: string | null;
  /** The trace of the recording, if this node recorded the event and tracing is on. It is not stored. */
  traceparent?: string | undefined;
  /**
   * When the delivery's row was due, or undefined if the delivery has no row of its own yet. This time identifies the
   * lease: it changes whenever the delivery goes back to waiting, and never while the delivery is leased.
   */
  due_at?: Date | undefined;
  /** Undefined if the delivery has its own row. */
  group: OpenGroup | undefined;
}

/** How many deliveries a node has room for. Recordings and claims send this to the database. */
export interface Room {
  /** Null if nothing can be leased to this process. */
  node: number | null;
  /** Webhooks whose room differs from `each`. */
  webhooks: ReadonlyMap<string, number>;
  /** For every other webhook. */
  each: number;
  /** For all webhooks together. */
  total: number;
}

export const noRoom: Room = { node: null, webhooks: new Map(), each: 0, total: 0 };

/** Returns the room as the last arguments of `posthorn.record`. */
function roomValues({ node, webhooks, each, total }: Room): unknown[] {
  if (webhooks.size === 0) return [node, null, null, each, total];
  return [node, [...webhooks.keys()], [...webhooks.values()], each, total];
}

export interface RecordedEvent {
  id: string;
  created_at: Date;
}

/** A webhook that got deliveries from a recording. */
export interface Matched {
  webhook_id: string;
  /** The revision of the webhook that the recording saw. */
  revision: number;
  /** Whether some of its deliveries are waiting in the backlog because the node had no room for them. */
  has_backlog: boolean;
}

export interface RecordedBatch {
  /** One for each event, in order. */
  events: readonly RecordedEvent[];
  /** Deliveries that were handed to the node. */
  leased: readonly LeasedDelivery[];
  room: Room;
  /** The webhooks that matched. Empty if `room` has no node. */
  matched: readonly Matched[];
  /** When the statement was sent, by `performance.now()`. What it read is at least as recent. */
  askedAtMs: number;
  /** The organizations of the events. */
  organizations: ReadonlySet<string>;
}

/** Events to record. The text of each payload is stored unchanged. */
export interface NewBatch {
  events: readonly (Omit<NewEvent, 'payload'> & { undelivered?: boolean; traceparent?: string })[];
  payloads: readonly string[];
}

export function batchOf(events: readonly (NewEvent & { undelivered?: boolean })[]): NewBatch {
  return { events, payloads: events.map(({ payload }) => JSON.stringify(payload)) };
}

/** Returns whether any of the events has an idempotency key. */
export function isKeyed({ events }: NewBatch): boolean {
  return events.some((event) => event.idempotency_key !== undefined);
}

/**
 * `id` is the head: what all identifiers of the recording share after their prefix. The number of the n-th event is
 * `base` plus n.
 */
interface RecordingRow {
  id: string;
  created_at: Date;
  base: number | string;
}

/** An event that was already recorded with the same idempotency key. */
interface KnownRow {
  ordinal: number | string;
  id: string;
  created_at: Date;
  webhook_id: null;
}

/** One webhook's deliveries. */
interface ShareRow extends Matched {
  /** The delivery of the n-th event has the number `base` + n. */
  base: number;
  /** The events, counted from one, whose deliveries were handed to the node; null if there are none. */
  ordinals: number[] | null;
}

/** Records a batch in the transaction of `client`. */
export async function recordBatch(
  client: Queryable,
  batch: NewBatch,
  room: Room = noRoom,
): Promise<RecordedBatch> {
  const { events, payloads } = batch;
  const askedAtMs = performance.now();
  const column = (read: (event: NewBatch['events'][number]) => string | null | undefined) =>
    arrayText(events, read);
  const { rows } = await client.query<RecordingRow | KnownRow | ShareRow>({
    name: 'record batch',
    text: 'select * from posthorn.record($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)',
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
      ...roomValues(room),
    ],
    leases: room.node !== null,
  });
  const [recording, ...others] = rows as [RecordingRow, ...(KnownRow | ShareRow)[]];
  const { id: head, created_at } = recording;
  const recorded: RecordedEvent[] = [];
  const base = Number(recording.base);
  for (let ordinal = 1; ordinal <= events.length; ordinal += 1) {
    recorded.push({ id: numbered(`EVT-${head}`, base + ordinal), created_at });
  }
  const leased: LeasedDelivery[] = [];
  const matched: ShareRow[] = [];
  // A payload is a slice of the request text and would keep all of it in memory while a delivery is waiting. So each
  // event has one copy, which its deliveries share.
  const copies: string[] = [];
  const copyOf = (index: number) => (copies[index] ??= Buffer.from(payloads[index]!).toString());
  const group: OpenGroup = { head, backlogKey: undefined, open: 0 };
  for (const row of others) {
    if (row.webhook_id === null) {
      recorded[Number(row.ordinal) - 1] = { id: row.id, created_at: row.created_at };
      continue;
    }
    matched.push(row);
    for (const ordinal of row.ordinals ?? []) {
      const event = events[ordinal - 1]!;
      leased.push({
        organization_id: event.organization_id,
        webhook_id: row.webhook_id,
        delivery_created_at: created_at,
        delivery_id: numbered(`WDLV-${head}`, row.base + ordinal),
        attempts: 0,
        scheduled: 1,
        event_id: recorded[ordinal - 1]!.id,
        type: event.type,
        event_created_at: created_at,
        workspace_id: event.workspace_id ?? null,
        actor: event.actor,
        subject: event.subject,
        payload: copyOf(ordinal - 1),
        traceparent: event.traceparent,
        group,
      });
    }
  }
  group.open = leased.length;
  const organizations = new Set(events.map((event) => event.organization_id));
  return { events: recorded, leased, room, matched, askedAtMs, organizations };
}

const isUndelivered = (event: NewBatch['events'][number]) => event.undelivered === true;

const lowDigits = 2 ** 20;

/** Appends the number as ten hexadecimal digits, as the database does. V8 formats it faster in two halves. */
function numbered(start: string, number: number): string {
  const low = number % lowDigits;
  const high = (number - low) / lowDigits;
  return start + high.toString(16).toUpperCase() + (lowDigits + low).toString(16).slice(1).toUpperCase();
}

/** A `pg` client with an open transaction. */
export interface TransactionClient {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/**
 * Adapts the caller's client to our storage. Statements have no names, so that they are not prepared on that
 * connection.
 */
export function queryable(client: TransactionClient): Queryable {
  return {
    query: async <Row extends object>({ text, values = [] }: { text: string; values?: unknown[] }) => {
      const { rows } = await client.query(text, values);
      return { rows: rows as Row[], rowCount: rows.length };
    },
  };
}

/**
 * Records events in the transaction of `client`, whose role may have no other privilege. The database checks their form
 * and types, but not their payloads.
 */
export async function recordEvents(
  client: Queryable,
  events: readonly NewEvent[],
): Promise<readonly RecordedEvent[]> {
  if (events.length === 0) return [];
  const { rows } = await client.query<{ id: string }>({
    text: 'select id from posthorn.record_events($1)',
    values: [JSON.stringify(events)],
  });
  // The caller's driver may parse times differently, so take the time from the ID.
  return rows.map(({ id }) => ({ id, created_at: new Date(idTimeMs('EVT', id)!) }));
}

/** Counts the deliveries of an organization that wait in the database. Reads at most `atMost` rows of each kind. */
export async function countWaiting(
  database: Queryable,
  organizationId: string,
  atMost: number,
): Promise<number> {
  const { rows } = await database.query<{ waiting: number }>({
    text: `
  select (select coalesce(sum(size), 0)
            from (select cardinality(ordinals) as size from posthorn.backlog where organization_id = $1 limit $2) b)
         + (select count(*)
              from (select from posthorn.deliveries
                     where organization_id = $1 and status = 'pending' and leased_by is null
                     limit $2) d) as waiting`,
    values: [organizationId, atMost],
  });
  return Number(rows[0]!.waiting);
}
