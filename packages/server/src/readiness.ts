import type { Logger } from 'pino';
import { Repeating } from './signals/repeating.js';
import { type Database, isUnreachable } from './storage/database.js';
import { isMigrated, migrate } from './storage/migrate.js';

const migrateAgainMs = 1_000;

export interface Readiness {
  /** Whether the database is reachable and has all migrations. */
  isReady: () => Promise<boolean>;
  /** Runs `then` now, or as soon as the database has been migrated. */
  whenReady: (then: () => Promise<void>) => Promise<void>;
  /** Stops trying to reach the database. */
  stop: () => Promise<void>;
}

/**
 * Migrates the database. If the database is unreachable, the service still starts and responds with 503 until the
 * database is back, as orchestrators expect. Any other failure makes the start fail, including one of `check`, which
 * runs after the migration.
 */
export async function migrateWhenReachable(
  database: Database,
  logger: Logger,
  check: () => void,
): Promise<Readiness> {
  let migrated = false;
  let whenMigrated: (() => Promise<void>)[] = [];
  const attempt = async () => {
    if (migrated) return;
    await database.detectPooler();
    const applied = await migrate(database);
    check();
    if (applied.length > 0) logger.info({ migrations: applied.length }, 'migrations applied');
    migrated = true;
    for (const then of whenMigrated) await then();
    whenMigrated = [];
  };
  let again: Repeating | undefined;
  try {
    await attempt();
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    again = new Repeating(migrateAgainMs, attempt, logger);
  }
  return {
    isReady: async () => migrated && (await isMigrated(database).catch(() => false)),
    whenReady: async (then: () => Promise<void>) => {
      if (migrated) await then();
      else whenMigrated.push(then);
    },
    stop: async () => again?.stop(),
  };
}
