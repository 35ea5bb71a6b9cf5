import { resolve } from 'node:path';
import { hasDatabase, openEmbedded } from '@posthorn/embedded';
import { CommandFailure } from 'posthorn';
import { Database } from '../postgres/database.js';
import { isMigrated, migrate } from '../postgres/migrate.js';
import type { Config } from '../settings/config.js';

/** What happened to a statement that took too long. */
export const tooSlow = 'did not respond in time: it is busy, or another session holds a lock';

export interface OpenDatabase {
  database: Database;
  close: () => Promise<void>;
}

/**
 * Opens the database, whether or not the service is running. Starts the embedded database if it is not running. Creates
 * a database only with `onCreate`: in the wrong directory, a command would report on an empty one. Never migrates the
 * database of DATABASE_URL.
 */
export async function openDatabase(
  { databaseUrl, dataDir }: Config,
  onCreate?: (directory: string) => void,
): Promise<OpenDatabase> {
  if (databaseUrl === undefined && !(await hasDatabase(dataDir))) {
    if (!onCreate)
      throw new CommandFailure(
        `There is no database in ${resolve(dataDir)}. Run the command in the directory of the service, or set ` +
          'POSTHORN_DATA_DIR or DATABASE_URL.',
      );
    onCreate(resolve(dataDir));
  }
  const embedded = databaseUrl === undefined ? await openEmbedded(dataDir, 'command') : undefined;
  const database = new Database(embedded?.connection ?? { connectionString: databaseUrl ?? '' }, 2);
  const close = async () => {
    await database.close();
    await embedded?.close();
  };
  try {
    await database.detectPooler();
    if (!(await isMigrated(database))) {
      if (!embedded)
        throw new CommandFailure(
          'The database has not been migrated to this version of Posthorn. Run posthorn migrate.',
        );
      await migrate(database);
    }
    return { database, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Runs `work` on the database that `openDatabase` opens. */
export async function withDatabase<T>(
  config: Config,
  work: (database: Database) => Promise<T>,
  onCreate?: (directory: string) => void,
): Promise<T> {
  const { database, close } = await openDatabase(config, onCreate);
  return work(database).finally(close);
}

const authorityCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Returns what to do if TLS, the login or the name of the database is why connecting failed. `source` names the setting
 * or option with the URL.
 */
export function connectAdvice(error: unknown, source: string): string | undefined {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (authorityCodes.has(code))
    return `If a private authority issued PostgreSQL's certificate, add sslrootcert=/path/to/ca.pem to ${source}.`;
  if (message.includes('does not support SSL'))
    return `Turn on TLS in PostgreSQL, or remove the TLS parameters, such as sslmode, from ${source}.`;
  if (message.includes('pg_hba.conf')) return `Allow the connection in pg_hba.conf, or correct ${source}.`;
  if (code === '28P01' || code === '28000') return `Correct the user or password in ${source}.`;
  if (code === '3D000') return `Create the database, or correct its name in ${source}.`;
  return undefined;
}
