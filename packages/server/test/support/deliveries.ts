import { setTimeout as delay } from 'node:timers/promises';
import { registerNode, releaseLeases, retireNodes } from '../../src/cells/node-store.js';
import { type ClaimBounds, type Claimed, claim } from '../../src/engine/claim-store.js';
import { countSettled, type Settlement, settle } from '../../src/engine/settlement-store.js';
import {
  type LeasedDelivery,
  type RecordedBatch,
  type Room,
  recordBatch,
} from '../../src/events/recording-store.js';
import type { Queryable } from '../../src/postgres/database.js';
import { afterFile } from './cleanup.js';
import { batch, event } from './client.js';
import { freshDatabase, type TestDatabase } from './database.js';

/** More than any test records, in deliveries or in bytes. */
export const many = 1_000_000;

export interface Subscriber {
  organization_id: string;
  id: string;
  workspace_id: string | null;
  event_types: readonly string[];
}

/** What a webhook has apart from its subscription if nothing is set. */
export const noSettings = {
  description: null,
  rate_limit: null,
  header_names: [],
  headers: null,
  filter: null,
  filter_path: null,
  format: 'envelope',
  template: null,
  retry_schedule: null,
  expires_at: null,
  status: 'unverified',
  disabled_reason: null,
} as const;

/** Adds an active webhook. */
export async function subscribe(database: Queryable, fields: Partial<Subscriber> = {}): Promise<Subscriber> {
  const subscriber: Subscriber = {
    ...{ organization_id: 'ORG-acme', id: 'WHK-1', workspace_id: null, event_types: ['*'] },
    ...fields,
  };
  await database.query({
    text: `
  with created as (
    insert into posthorn.webhooks (organization_id, id, workspace_id, url, status, event_types, created_at, secret)
    values ($1, $2, $3, 'https://receiver.test/', 'active', $4, now(), '')
    returning organization_id, id
  )
  insert into posthorn.webhook_health (organization_id, webhook_id) select * from created`,
    values: [subscriber.organization_id, subscriber.id, subscriber.workspace_id, subscriber.event_types],
  });
  return subscriber;
}

let ofFile: TestDatabase | undefined;

/**
 * Returns a database with one webhook of ORG-acme that gets everything, and a node. The tests of a file use the same
 * database, and each finds it empty: in a new one, PostgreSQL would spend 150 ms of CPU on files and plans.
 */
export async function withNode() {
  if (ofFile) await ofFile.database.query({ text: emptyTables });
  else {
    ofFile = await freshDatabase();
    afterFile(() => {
      ofFile = undefined;
    });
  }
  const { database, url } = ofFile;
  await subscribe(database);
  return { database, url, node: await registerNode(database, 60_000) };
}

const tables = [
  ...['relocations', 'backlog', 'deliveries', 'delivery_counts', 'event_counts', 'event_keys', 'events'],
  ...['handoffs', 'nodes', 'replays', 'webhook_health', 'webhooks'],
];
const emptyTables = [
  ...tables.map((table) => `delete from posthorn.${table}`),
  // A node that was woken just now is not woken again.
  "select setval('posthorn.last_announcement', 1, false)",
].join(';');

/** Returns the room of a node that has plenty, but for what is given. */
export function roomOf(node: number | null, fields: Partial<Room> = {}): Room {
  return { node, webhooks: new Map(), each: many, total: many, ...fields };
}

export const eventsOf = (organization_id: string, count: number) =>
  Array.from({ length: count }, () => event({ organization_id, payload: { filler: 'ü' } }));

/**
 * Records so many events of ORG-acme for a node that has room for all of them; null: for no node. The next recording
 * sorts after this one.
 */
export async function recordFor(
  database: Queryable,
  node: number | null,
  count: number,
): Promise<RecordedBatch> {
  const recorded = await recordBatch(database, batch(eventsOf('ORG-acme', count)), roomOf(node));
  await nextMillisecond();
  return recorded;
}

/** Resolves in the next millisecond: recordings of the same one have no order. */
export async function nextMillisecond(): Promise<void> {
  const at = Date.now();
  while (Date.now() === at) await delay(1);
}

/** Claims for a node that has plenty of room, but for what is given. */
export function claimFor(
  database: Queryable,
  node: number,
  { webhooksMax = 100, bytesMax = many, ...room }: Partial<Room & ClaimBounds> = {},
): Promise<Claimed> {
  return claim(database, roomOf(node, room), { webhooksMax, bytesMax });
}

/** Takes nodes for dead and releases what they held. Returns how many deliveries. */
export async function bury(database: Queryable, nodes: readonly number[] | 'all'): Promise<number> {
  await retireNodes(database, nodes);
  return releaseLeases(database, many);
}

export interface DeliveryRow {
  id: string;
  organization_id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  created_at: Date;
  event_created_at: Date;
  due_at: Date;
  status: string;
  attempts: number;
  leased_by: number | null;
  bytes: number | null;
  http_status: number | null;
  error: string | null;
}

export async function deliveryRows(database: Queryable): Promise<DeliveryRow[]> {
  const { rows } = await database.query<DeliveryRow>({
    text: `
  select id, organization_id, webhook_id, event_id, event_type, created_at, event_created_at, due_at, status,
         attempts, leased_by, bytes, http_status, error
    from posthorn.deliveries
   order by id`,
  });
  return rows;
}

let number = 0;

/** Returns a first delivery of ORG-acme to WHK-1, as a node has it in memory, but for what is given. */
export function leasedDelivery(fields: Partial<LeasedDelivery> = {}): LeasedDelivery {
  number += 1;
  const at = new Date(0);
  return {
    ...{
      organization_id: 'ORG-acme',
      webhook_id: 'WHK-1',
      delivery_created_at: at,
      attempts: 0,
      scheduled: 1,
    },
    ...{ delivery_id: `WDLV-${number}`, event_id: `EVT-${number}`, type: 'invoice.paid', group: undefined },
    ...{ event_created_at: at, workspace_id: null, payload: '{}' },
    ...{ actor: { type: 'user', id: 'USR-1' }, subject: { type: 'invoice', id: 'INV-1' } },
    ...fields,
  };
}

/** Returns how many deliveries each hand-off has, settled or not. */
export async function handoffSizes(database: Queryable): Promise<number[]> {
  const { rows } = await database.query<{ size: number }>({
    text: 'select cardinality(ordinals) as size from posthorn.handoffs order by 1',
  });
  return rows.map(({ size }) => size);
}

/** Returns how many deliveries each part of the backlog has, in the order in which they are claimed. */
export async function backlogSizes(
  database: Queryable,
  state: 'waiting' | 'leased' | 'held' | 'any' = 'any',
): Promise<number[]> {
  const { rows } = await database.query<{ size: number }>({
    text: `
  select cardinality(ordinals) as size
    from posthorn.backlog
   where $1 = 'any' or $1 = case when leased_by is null then 'waiting' when leased_by = 0 then 'held' else 'leased' end
   order by organization_id, webhook_id, created_at, head, first`,
    values: [state],
  });
  return rows.map(({ size }) => size);
}

/** Returns all deliveries of an organization, whether they have rows yet or not. */
export async function deliveriesOf(
  database: Queryable,
  organizationId: string,
): Promise<{ id: string; event_id: string; webhook_id: string }[]> {
  const { rows } = await database.query<{ id: string; event_id: string; webhook_id: string }>({
    text: `
  select id, event_id, webhook_id from posthorn.deliveries where organization_id = $1
   union all
  select posthorn.numbered('WDLV-', o.head, o.base + o.ordinal), posthorn.numbered('EVT-', o.head, o.event_base + o.ordinal),
         w.id
    from posthorn.webhooks w
   cross join posthorn.open_shares(w.organization_id, array[w.id], null, null) o
   where w.organization_id = $1
   order by 1`,
    values: [organizationId],
  });
  return rows;
}

/** Returns the deliveries of a webhook that have no row yet, in the order of their ids. */
export async function openDeliveries(
  database: Queryable,
  { organization_id = 'ORG-acme', id = 'WHK-1' } = {},
): Promise<{ id: string; event_id: string }[]> {
  const { rows } = await database.query<{ id: string; event_id: string }>({
    text: `
  select posthorn.numbered('WDLV-', head, base + ordinal) as id,
         posthorn.numbered('EVT-', head, event_base + ordinal) as event_id
    from posthorn.open_shares($1, array[$2], null, null)
   order by 1`,
    values: [organization_id, id],
  });
  return rows;
}

export const idsOf = (deliveries: readonly LeasedDelivery[]) => deliveries.map(({ delivery_id: id }) => id);

export const succeeded = (delivery: LeasedDelivery): Settlement => ({
  ...{ delivery, status: 'success', attempts: delivery.attempts + 1, attempted_at: new Date() },
  ...{ http_status: 200, error: null, duration_ms: 7, response: 'ok' },
});

/** A failed attempt. With a wait of 0 ms, the retry is due at once: rounded to milliseconds, "now" can lie ahead. */
export const failedOnce = (delivery: LeasedDelivery, waitMs: number): Settlement => ({
  ...{ delivery, status: 'pending', attempts: delivery.attempts + 1, wait_ms: waitMs || -1 },
  ...{ attempted_at: new Date(), http_status: 500, error: null, duration_ms: 7, response: 'no' },
});

/** Writes outcomes whose response is lost: the node does not know that they are written. */
export async function settleUnheard(
  database: Queryable,
  node: number,
  settlements: readonly Settlement[],
): Promise<string[]> {
  const { written } = await settle(database, node, settlements, [], { listed: true, failingMs: 0 });
  return [...written].sort();
}

/** Writes outcomes as a node does. Returns the ids of the deliveries that were written. */
export async function settleFor(
  database: Queryable,
  node: number,
  settlements: readonly Settlement[],
): Promise<string[]> {
  const written = await settleUnheard(database, node, settlements);
  countSettled(settlements);
  return written;
}
