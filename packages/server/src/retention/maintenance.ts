import type { Logger } from 'pino';
import { earliestAuditMs } from '../audit/audit.js';
import { earliestReadableMs } from '../events/event.js';
import { type Database, readClockMs } from '../postgres/database.js';
import { partitioned } from '../postgres/partitions.js';
import { levelFor } from '../signals/reported-error.js';
import { dayMs } from '../values/time.js';
import { releaseHeld } from '../webhooks/webhook-store.js';
import { deleteOld, dropPartitions, makePartitionsAhead, withMaintenanceLock } from './retention-store.js';

/** How often maintenance runs. */
export const maintenanceMs = 600_000;
/** How many rows one statement deletes or releases, so that it ends within its time limit. */
const deletedAtOnce = 10_000;
const heldAtOnce = 1_000;
/**
 * How long one run may repeat a part. It is short because the start of a node waits for its first run, and because the
 * move of an organization to another cell waits for the run's transaction to end.
 */
const repeatMsMax = 5_000;

export interface MaintenanceOptions {
  database: Database;
  logger: Logger;
  /** How long events and deliveries can be read. */
  retentionMs: number;
  /** Ends a run early. The next run continues. */
  stopping?: AbortSignal;
  /** Returns the database's time: a node whose clock is ahead must not delete what is not old. */
  now?: () => Promise<number> | number;
}

/** Maintains the database, unless another node is doing so. A part that fails does not keep the others from running. */
export async function maintain(options: MaintenanceOptions): Promise<void> {
  const { database, logger, retentionMs, stopping, now = () => readClockMs(database) } = options;
  const attempt = async (part: string, work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      const fields = { part, reason: (error as Error).message };
      logger[levelFor(error)](fields, 'maintenance failed and will be retried');
    }
  };
  /** Repeats a part until it changes no more rows, or until its time is up. In that case, the next run continues. */
  const repeat = async (part: string, work: () => Promise<number>) => {
    const endMs = performance.now() + repeatMsMax;
    await attempt(part, async () => {
      while (!stopping?.aborted && (await work()) > 0 && performance.now() < endMs);
    });
  };
  const runParts = async (nowMs: number) => {
    const earliestMs = earliestReadableMs(nowMs, retentionMs);
    await attempt('partitions ahead', () => makePartitionsAhead(database, nowMs));
    await repeat('held deliveries', () => releaseHeld(database, heldAtOnce));
    await repeat('old backlog', () => deleteOld(database, 'backlog', new Date(earliestMs), deletedAtOnce));
    for (const parent of partitioned) {
      const keepFromMs = parent === 'audit_log' ? earliestAuditMs(nowMs) : earliestMs;
      await attempt(`old ${parent}`, async () => {
        const dropped = await dropPartitions(database, parent, new Date(keepFromMs), new Date(nowMs));
        if (dropped.length > 0)
          logger.info({ partitions: dropped }, 'dropped partitions past their retention');
      });
    }
    const dayAgo = new Date(nowMs - dayMs);
    for (const table of ['event_keys', 'request_keys', 'tokens'] as const)
      await repeat(`old ${table}`, () => deleteOld(database, table, dayAgo, deletedAtOnce));
  };
  await attempt('the lock', () => withMaintenanceLock(database, async () => runParts(await now())));
}
