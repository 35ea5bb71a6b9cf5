import { Semaphore } from '../signals/semaphore.js';
import type { Database, Queryable } from './database.js';
import { isCanceled, isLockTimeout, isUnreachable } from './database-errors.js';

/**
 * Writes for one organization wait for each other anyway, because they share an audit chain. Running several at once
 * would only occupy connections.
 */
const concurrentMax = 1;

const queues = new WeakMap<Database, Map<string, { semaphore: Semaphore; users: number }>>();

/**
 * Runs a transaction that ends with an audit log entry of this organization. If something locks the organization's
 * chain for a long time, all waiting writes fail together with the first, so other organizations still get connections.
 */
export async function auditedWrite<T>(
  database: Database,
  organizationId: string,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const all = queues.get(database) ?? new Map();
  queues.set(database, all);
  const queue = all.get(organizationId) ?? { semaphore: new Semaphore(concurrentMax), users: 0 };
  all.set(organizationId, queue);
  queue.users += 1;
  const write = () =>
    database.transaction(work).catch((error) => {
      // Reject the waiting writes before the next one starts: it would wait for the same lock, or for the
      // same unreachable database.
      if (isLockTimeout(error) || isCanceled(error) || isUnreachable(error))
        queue.semaphore.rejectWaiting(error, 0);
      throw error;
    });
  try {
    return await queue.semaphore.run(write);
  } finally {
    queue.users -= 1;
    if (queue.users === 0) all.delete(organizationId);
  }
}
