import { resolve } from 'node:path';
import { CommandFailure } from 'posthorn';
import { hasDatabase } from '../embedded/cluster.js';
import { openEmbedded } from '../embedded/embedded.js';
import { Database } from '../postgres/database.js';
import { isMigrated, migrate } from '../postgres/migrate.js';
import type { Config } from '../settings/config.js';

/**
 * Runs `work` on the database, whether or not the service is running. Starts the embedded database if it is not
 * running. Creates a database only with `onCreate`: in the wrong directory, a command would report on an empty one.
 * Never migrates the database of DATABASE_URL.
 */
export async function withDatabase<T>(
  config: Config,
  work: (database: Database) => Promise<T>,
  onCreate?: (directory: string) => void,
): Promise<T> {
  if (config.databaseUrl !== undefined) {
    const database = new Database({ connectionString: config.databaseUrl }, 2);
    try {
      await database.detectPooler();
      if (!(await isMigrated(database))) {
        throw new CommandFailure(
          'The database has not been migrated to this version of Posthorn. Run posthorn migrate.',
        );
      }
      return await work(database);
    } finally {
      await database.close();
    }
  }
  if (!(await hasDatabase(config.dataDir))) {
    if (onCreate) onCreate(resolve(config.dataDir));
    else
      throw new CommandFailure(
        `There is no database in ${resolve(config.dataDir)}. Run the command in the directory of the service, or set ` +
          'POSTHORN_DATA_DIR or DATABASE_URL.',
      );
  }
  const embedded = await openEmbedded(config.dataDir, 'command');
  const database = new Database(embedded.connection, 2);
  try {
    if (!(await isMigrated(database))) await migrate(database);
    return await work(database);
  } finally {
    await database.close();
    await embedded.close();
  }
}
