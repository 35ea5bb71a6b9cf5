import { onTestFinished } from 'vitest';
import type { Database, Queryable } from '../../src/storage/database.js';
import type { LeasedDelivery } from '../../src/storage/leased-delivery.js';
import { registerNode } from '../../src/storage/nodes.js';
import { type RecordedBatch, recordBatch } from '../../src/storage/recording.js';
import {
  countSettled,
  type Settlement,
  settleBundled,
  settleDeliveries,
} from '../../src/storage/settlements.js';
import { batch, event } from './client.js';
import { freshDatabase } from './database.js';

export interface Subscriber {
  organization_id: string;
  id: string;
  workspace_id: string | null;
  event_types: readonly string[];
}

export async function subscribe(database: Queryable, fields: Partial<Subscriber> = {}): Promise<Subscriber> {
  const subscriber: Subscriber = {
    ...{ organization_id: 'ORG-acme', id: 'WHK-1', workspace_id: null, event_types: ['*'] },
    ...fields,
  };
  await database.query({
    text: `
  insert into posthorn.webhooks (organization_id, id, workspace_id, url, status, event_types, created_at, secret)
  values ($1, $2, $3, 'https://receiver.test/', 'active', $4, now(), '')`,
    values: [subscriber.organization_id, subscriber.id, subscriber.workspace_id, subscriber.event_types],
  });
  return subscriber;
}

/** A database of the calling test's own with one webhook of ORG-acme that takes everything, and a node. */
export async function withNode() {
  const { database, url, drop } = await freshDatabase();
  onTestFinished(drop);
  await subscribe(database);
  return { database, url, node: await registerNode(database, 60_000) };
}

/** So many events, whose deliveries are the node's. */
export function recordFor(database: Queryable, node: number | null, count: number): Promise<RecordedBatch> {
  const events = Array.from({ length: count }, () => event({ payload: { filler: 'ü' } }));
  return recordBatch(database, batch(events), { node, saturated: [] });
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
}

export async function deliveryRows(database: Queryable): Promise<DeliveryRow[]> {
  const { rows } = await database.query<DeliveryRow>({
    text: `
  select id, organization_id, webhook_id, event_id, event_type, created_at, event_created_at, due_at, status,
         attempts, leased_by, bytes, http_status
    from posthorn.deliveries
   order by id`,
  });
  return rows;
}

/** How many deliveries each bundle has, settled or not. */
export async function bundleSizes(database: Queryable): Promise<number[]> {
  const { rows } = await database.query<{ size: number }>({
    text: 'select cardinality(ordinals) as size from posthorn.bundles order by 1',
  });
  return rows.map(({ size }) => size);
}

export const succeeded = (delivery: LeasedDelivery): Settlement => ({
  ...{ delivery, status: 'success', attempts: delivery.attempts + 1, attempted_at: new Date() },
  ...{ http_status: 200, error: null, duration_ms: 7, response: 'ok' },
});

export const failedOnce = (delivery: LeasedDelivery, waitMs: number): Settlement => ({
  ...{
    delivery,
    status: 'pending',
    attempts: delivery.attempts + 1,
    wait_ms: waitMs,
    attempted_at: new Date(),
  },
  ...{ http_status: 500, error: null, duration_ms: 7, response: 'no' },
});

/** Writes outcomes as a node does, each in the way of its delivery; answers which were written. */
export async function settle(
  database: Database | Queryable,
  node: number,
  settlements: readonly Settlement[],
  again = false,
): Promise<string[]> {
  const ofBundles = settlements.filter(({ delivery }) => delivery.bundle);
  const ofRows = settlements.filter(({ delivery }) => !delivery.bundle);
  const written = [
    ...(ofBundles.length > 0 ? await settleBundled(database, node, ofBundles, { again, answer: true }) : []),
    ...(ofRows.length > 0 ? await settleDeliveries(database, node, ofRows, true) : []),
  ];
  countSettled(settlements);
  return written;
}
