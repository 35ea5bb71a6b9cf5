import { Semaphore } from '../signals/semaphore.js';
import { type Database, isUnreachable, type Queryable } from './database.js';

/** Writes of one organization wait for its audit chain anyway. More at once would only occupy connections. */
const atOnceMax = 1;
const lockNotAvailable = '55P03';

const lines = new WeakMap<Database, Map<string, { semaphore: Semaphore; users: number }>>();

/**
 * Runs a transaction that ends with an audit log entry of this organization. If something holds the organization's
 * chain for long, all waiting writes fail together with the first, so other organizations still get connections.
 */
export async function auditedWrite<T>(
  database: Database,
  organizationId: string,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const all = lines.get(database) ?? new Map();
  lines.set(database, all);
  const line = all.get(organizationId) ?? { semaphore: new Semaphore(atOnceMax), users: 0 };
  all.set(organizationId, line);
  line.users += 1;
  const write = () =>
    database.transaction(work).catch((error) => {
      // Before the next write starts: it would wait for the same chain, or for the same lost database.
      const isHeld = (error as { code?: string }).code === lockNotAvailable;
      if (isHeld || isUnreachable(error)) line.semaphore.rejectWaiting(error, 0);
      throw error;
    });
  try {
    return await line.semaphore.run(write);
  } finally {
    line.users -= 1;
    if (line.users === 0) all.delete(organizationId);
  }
}
