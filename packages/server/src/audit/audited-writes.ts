import type { Database, Queryable } from '../postgres/database.js';
import { isCanceled, isLockTimeout, isUnreachable } from '../postgres/database-errors.js';
import { Semaphore } from '../signals/semaphore.js';

/**
 * Writes for one organization wait for each other anyway, because they share an audit chain. Running several at once
 * would only occupy connections.
 */
const eachMax = 1;

const semaphores = new WeakMap<Database, Semaphore>();

/**
 * Runs a transaction that ends with an audit log entry of this organization. If something locks the organization's
 * chain for a long time, all waiting writes fail together with the first, so other organizations still get connections.
 */
export function auditedWrite<T>(
  database: Database,
  organizationId: string,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const semaphore = semaphores.get(database) ?? new Semaphore(Number.POSITIVE_INFINITY, eachMax);
  semaphores.set(database, semaphore);
  return semaphore.run(organizationId, () =>
    database.transaction(work).catch((error) => {
      // Reject the waiting writes before the next one starts: it would wait for the same lock, or for the
      // same unreachable database.
      if (isLockTimeout(error) || isCanceled(error) || isUnreachable(error))
        semaphore.rejectWaiting(error, 0, organizationId);
      throw error;
    }),
  );
}
