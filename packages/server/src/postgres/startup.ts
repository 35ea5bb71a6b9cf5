import type { Logger } from 'pino';
import { Repeating } from '../signals/timers.js';
import type { Database } from './database.js';
import { isTransient, isUnreachable } from './database-errors.js';
import { blocked, isMigrated, migrate } from './migrate.js';

const migrateAgainMs = 1_000;

export interface Startup {
  /** Whether the database is reachable, accepts writes and has all migrations, and all that waited for it has started. */
  isReady: () => Promise<boolean>;
  /** Whether the database has been migrated and checked, and all that waited for it has started. */
  hasStarted: () => boolean;
  /** Resolves with the reason if the database, once reachable, turns out to be one that the service must not use. */
  refused: Promise<Error>;
  /**
   * Runs `start` now if the database has been migrated, or else as soon as it has been. If it then fails for a reason
   * that can pass, it is run again.
   */
  whenReady: (start: () => Promise<void>) => Promise<void>;
  /** Stops trying to reach the database. */
  stop: () => Promise<void>;
}

/**
 * Migrates the database. If the database is unreachable, the service still starts and responds with 503 until the
 * database is back, as orchestrators expect. Any other failure makes the start fail, including one of `check`, which
 * runs after the migration. If such a failure occurs only after the database was unreachable, `refused` resolves with
 * it, and the service has to end. A failure that can pass is retried instead.
 */
export async function migrateWhenReachable(
  database: Database,
  logger: Logger,
  check: () => void,
): Promise<Startup> {
  let isMigratedOnce = false;
  const waiting: (() => Promise<void>)[] = [];
  const attempt = async () => {
    if (!isMigratedOnce) {
      await database.detectPooler();
      const applied = await migrate(database, () => logger.warn(blocked));
      check();
      if (applied.length > 0) logger.info({ migrations: applied.length }, 'migrations applied');
      isMigratedOnce = true;
    }
    for (let start = waiting[0]; start; start = waiting[0]) {
      await start();
      waiting.shift();
    }
  };
  const hasStarted = () => isMigratedOnce && waiting.length === 0;
  let again: Repeating | undefined;
  let refuse: (reason: Error) => void = () => undefined;
  const refused = new Promise<Error>((resolve) => {
    refuse = resolve;
  });
  const attemptAgain = async () => {
    try {
      await attempt();
    } catch (error) {
      if (isTransient(error)) throw error;
      void again?.stop();
      logger.error(
        { reason: (error as Error).message },
        'this node cannot use the database, so it is stopping',
      );
      refuse(error as Error);
    }
  };
  try {
    await attempt();
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    again = new Repeating(migrateAgainMs, attemptAgain, logger);
  }
  // Anyone can send readiness checks, so those that arrive while one is running share its result.
  let checking: Promise<boolean> | undefined;
  const isUsable = () => {
    checking ??= Promise.all([isMigrated(database), database.isWritable()])
      .then((passed) => passed.every(Boolean))
      .catch(() => false)
      .finally(() => {
        checking = undefined;
      });
    return checking;
  };
  return {
    isReady: async () => hasStarted() && (await isUsable()),
    hasStarted,
    refused,
    whenReady: async (start) => {
      if (hasStarted()) await start();
      else waiting.push(start);
    },
    stop: async () => again?.stop(),
  };
}
