import type { AuditWatch } from '../audit/chain-store.js';
import type { DeliveryEngine } from '../engine/engine.js';
import { readHorizonMs } from '../events/event-store.js';
import type { Database } from '../postgres/database.js';
import { CoalescedCall } from '../signals/coalesced-call.js';
import type { WebhookDirectory } from '../webhooks/directory.js';
import type { Metrics, Reading } from './metrics.js';
import { readStoreFigures, type StoreFigures } from './overview-store.js';

/** Adds the metrics that are read from the database. A scrape reads it twice for all metrics together. */
export function watchStore(metrics: Metrics, database: Database): void {
  const figures = new CoalescedCall(() => readStoreFigures(database));
  const watch = (name: string, help: string, read: (figures: StoreFigures) => Reading, label?: string) =>
    metrics.watch(name, help, async () => read(await figures.call()), label);
  const isUp = ({ isReadOnly }: StoreFigures) => Number(!isReadOnly);
  metrics.watch(
    'posthorn_database_up',
    'Whether this process reached the database for this scrape, and the database accepts writes',
    () => figures.call().then(isUp, () => 0),
  );
  watch(
    'posthorn_oldest_due_delivery_age_seconds',
    'How long the oldest due delivery has waited for a node to claim it, by whether its webhook is healthy or failing',
    ({ oldestDueSeconds }) => oldestDueSeconds,
    'condition',
  );
  watch(
    'posthorn_webhooks',
    'Webhooks by status: active ones without those that are failing, failing, unverified, paused, disabled',
    ({ webhooks }) => webhooks,
    'status',
  );
  watch(
    'posthorn_waiting_webhooks',
    'Webhooks with due deliveries in the database that no node has claimed',
    ({ waitingWebhooks }) => waitingWebhooks,
  );
  watch(
    'posthorn_waiting_deliveries',
    'Due deliveries in the database that no node has claimed, waiting for a first attempt or for a retry; counting ' +
      'stops at 5,000 rows of each kind',
    ({ waitingFirst, waitingRetries }) => ({ first: waitingFirst, retry: waitingRetries }),
    'kind',
  );
  watch(
    'posthorn_oldest_transaction_age_seconds',
    'Age of the oldest transaction that prevents PostgreSQL from removing dead rows',
    ({ oldestTransactionSeconds }) => oldestTransactionSeconds,
  );
  watch('posthorn_nodes', 'Delivery nodes that are alive', ({ nodes }) => nodes);
  watch(
    'posthorn_partitions',
    'Partitions of a table',
    ({ partitions }) => Object.fromEntries(partitions.map((one) => [one.table, one.partitions])),
    'table',
  );
  watch(
    'posthorn_partitions_ahead_seconds',
    'Time until the last partition of a table ends',
    ({ partitions }) => Object.fromEntries(partitions.map((one) => [one.table, one.aheadSeconds])),
    'table',
  );
  metrics.watch(
    'posthorn_event_horizon_age_seconds',
    'How far ascending reads lag behind because of the oldest recording transaction',
    async () => Math.max(0, Date.now() - (await readHorizonMs(database, null))) / 1000,
  );
}

/** Adds whether events are read from the replica. */
export function watchReplica(metrics: Metrics, reader: { isUsed: boolean }): void {
  metrics.watch('posthorn_read_replica_used', 'Whether this process reads events from the replica', () =>
    Number(reader.isUsed),
  );
}

export function watchAudit(metrics: Metrics, audit: AuditWatch): void {
  metrics.watch(
    'posthorn_audit_chains_broken',
    'Organizations whose audit log was altered, as last verified by this process',
    () => audit.figures.broken,
  );
  metrics.watch(
    'posthorn_audit_chains_verified',
    'Audit logs that this process has verified since it started. It verifies one per minute',
    () => audit.figures.verified,
  );
}

export function watchEngine(metrics: Metrics, engine: DeliveryEngine, directory: WebhookDirectory): void {
  metrics.watch(
    'posthorn_deliveries_in_memory',
    'Deliveries leased to this process',
    () => engine.load,
    'state',
  );
  metrics.watch(
    'posthorn_attempts_in_flight',
    'Requests to receivers in flight, by the condition of the webhook',
    () => engine.inFlightByCondition,
    'condition',
  );
  metrics.watch(
    'posthorn_undecryptable_webhooks',
    'Webhooks whose deliveries wait because this process cannot decrypt their secret or headers',
    () => directory.countSealed(),
  );
}

/** Adds the metrics of the connection pools. The engine has its own pool, so that requests cannot slow it down. */
export function watchConnections(metrics: Metrics, pools: Record<string, Database>): void {
  const watch = (name: string, help: string, read: (use: Database['use']) => number) =>
    metrics.watch(
      name,
      help,
      () => Object.fromEntries(Object.entries(pools).map(([pool, { use }]) => [pool, read(use)])),
      'pool',
    );
  watch('posthorn_database_connections_in_use', 'Database connections in use', ({ inUse }) => inUse);
  watch('posthorn_database_connections_max', 'Database connections that a pool can open', ({ max }) => max);
  watch(
    'posthorn_database_connection_waits',
    'Statements and transactions that are waiting for a connection',
    ({ waiting }) => waiting,
  );
}
