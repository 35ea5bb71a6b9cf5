import { setTimeout as delay } from 'node:timers/promises';
import { changeState, type OrganizationMove } from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { holdDeliveries, openTransactions } from './draining-store.js';
import { RelocationRefused } from './relocation-refused.js';

const pollMs = 25;

/**
 * Takes an organization from the state `stopping` to `stopped`. After that, nothing is written for it, and all its
 * deliveries are held.
 */
export async function stop(from: Database, move: OrganizationMove, deadlineMs: number): Promise<void> {
  for (;;) {
    await drain(from, move.organizationId, deadlineMs);
    await changeState(from, move, 'stopping', 'stopped');
    await transactionsEnd(from, 'old', deadlineMs - performance.now());
    // The service may have recorded an event of its own after the drain, and a node may have its deliveries.
    if (await hold(from, move.organizationId, deadlineMs)) return;
    // The outcome of such a delivery can lead to another event, which only an organization that is stopping accepts.
    await changeState(from, move, 'stopped', 'stopping');
  }
}

/** Waits until all transactions that began before the stop have ended and no attempt is in flight. */
async function drain(from: Database, organizationId: string, deadlineMs: number): Promise<void> {
  await transactionsEnd(from, 'old', deadlineMs - performance.now());
  while (!(await hold(from, organizationId, deadlineMs))) await delay(pollMs);
}

/** Holds the deliveries of an organization. Returns whether that covers all of them. */
async function hold(from: Database, organizationId: string, deadlineMs: number): Promise<boolean> {
  if (await holdDeliveries(from, organizationId)) return true;
  if (performance.now() <= deadlineMs) return false;
  throw new RelocationRefused(
    `Deliveries of ${organizationId} are still in flight. The organization stays in its old cell. Run the command again.`,
  );
}

/** Waits until all transactions that are open now have ended. */
export async function transactionsEnd(database: Database, cell: 'old' | 'new', msMax: number): Promise<void> {
  const deadlineMs = performance.now() + msMax;
  let open = await openTransactions(database);
  while (open.length > 0) {
    if (performance.now() > deadlineMs) {
      throw new RelocationRefused(
        `Transactions in the ${cell} cell are still open (${open.length}). Look for them in pg_stat_activity, or try again later.`,
      );
    }
    await delay(pollMs);
    const still = new Set(await openTransactions(database));
    open = open.filter((one) => still.has(one));
  }
}
