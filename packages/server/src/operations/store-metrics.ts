import { readHorizonMs } from '../events/event-store.js';
import type { Database } from '../postgres/database.js';
import { CoalescedCall } from '../signals/coalesced-call.js';
import { readStoreFigures, type StoreFigures } from './figure-store.js';
import type { Metrics } from './metrics.js';

/** Adds the metrics that are read from the database. A scrape reads it twice for all metrics together. */
export function watchStore(metrics: Metrics, database: Database): void {
  const figures = new CoalescedCall(() => readStoreFigures(database));
  const watch = (name: string, help: string, read: (figures: StoreFigures) => number) =>
    metrics.watch(name, help, async () => read(await figures.call()));
  const isUp = () =>
    figures.call().then(
      ({ isReadOnly }) => Number(!isReadOnly),
      () => 0,
    );
  metrics.watch(
    'posthorn_database_up',
    'Whether this process reached the database for this scrape, and the database accepts writes',
    isUp,
  );
  watch(
    'posthorn_oldest_due_delivery_age_seconds',
    'How long the oldest due delivery has waited for a node to claim it',
    ({ oldestDueSeconds }) => oldestDueSeconds,
  );
  watch(
    'posthorn_waiting_webhooks',
    'Webhooks with due deliveries in the database that no node has claimed',
    ({ waitingWebhooks }) => waitingWebhooks,
  );
  metrics.watch(
    'posthorn_waiting_deliveries',
    'Due deliveries in the database that no node has claimed, waiting for a first attempt or for a retry; counting ' +
      'stops at 5,000 rows of each kind',
    async () => {
      const { waitingFirst, waitingRetries } = await figures.call();
      return { first: waitingFirst, retry: waitingRetries };
    },
    'kind',
  );
  watch(
    'posthorn_oldest_transaction_age_seconds',
    'Age of the oldest transaction that prevents PostgreSQL from removing dead rows',
    ({ oldestTransactionSeconds }) => oldestTransactionSeconds,
  );
  watch('posthorn_nodes', 'Delivery nodes that are alive', ({ nodes }) => nodes);
  const byTable = (read: (table: StoreFigures['partitions'][number]) => number) => async () =>
    Object.fromEntries((await figures.call()).partitions.map((table) => [table.table, read(table)]));
  metrics.watch(
    'posthorn_partitions',
    'Partitions of a table',
    byTable(({ count }) => count),
    'table',
  );
  metrics.watch(
    'posthorn_partitions_ahead_seconds',
    'Time until the last partition of a table ends',
    byTable(({ aheadSeconds }) => aheadSeconds),
    'table',
  );
  metrics.watch(
    'posthorn_event_horizon_age_seconds',
    'How far ascending reads lag behind because of the oldest recording transaction',
    async () => Math.max(0, Date.now() - (await readHorizonMs(database, null))) / 1000,
  );
}
