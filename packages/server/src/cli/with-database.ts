import { resolve } from 'node:path';
import { type EmbeddedDatabase, hasDatabase, openEmbedded } from '@posthorn/embedded';
import { CommandFailure } from 'posthorn';
import { relocationProblem } from '../cells/relocation.js';
import { readRelocation } from '../cells/relocation-store.js';
import { Database } from '../postgres/database.js';
import * as errors from '../postgres/database-errors.js';
import { isMigrated, migrate } from '../postgres/migrate.js';
import type { Config } from '../settings/config.js';

/** What happened to a statement that took too long. */
export const tooSlow = 'did not respond in time: it is busy, or another session holds a lock';

export interface OpenDatabase {
  database: Database;
  /** The embedded database, without DATABASE_URL. */
  embedded: EmbeddedDatabase | undefined;
  close: () => Promise<void>;
}

/** Opens the database, whether or not it is migrated. Starts the embedded database if it is not running. */
export async function openTarget(
  { databaseUrl, dataDir }: Config,
  purpose: 'serve' | 'command' = 'command',
): Promise<OpenDatabase> {
  const embedded = databaseUrl === undefined ? await openEmbedded(dataDir, purpose) : undefined;
  const database = new Database(embedded?.connection ?? { connectionString: databaseUrl ?? '' }, 2);
  const close = async () => {
    await database.close();
    await embedded?.close();
  };
  return { database, embedded, close };
}

/**
 * Opens the database, whether or not the service is running. Creates a database only with `onCreate`: in the wrong
 * directory, a command would report on an empty one. Never migrates the database of DATABASE_URL.
 */
export async function openDatabase(
  config: Config,
  onCreate?: (directory: string) => void,
): Promise<OpenDatabase> {
  const directory = resolve(config.dataDir);
  if (config.databaseUrl === undefined && !(await hasDatabase(directory))) {
    if (!onCreate)
      throw new CommandFailure(
        `There is no database in ${directory}. Run the command in the directory of the service, or set ` +
          'POSTHORN_DATA_DIR or DATABASE_URL.',
      );
    onCreate(directory);
  }
  const opened = await openTarget(config);
  const { database, embedded } = opened;
  try {
    await database.detectPooler();
    if (!(await isMigrated(database))) {
      if (!embedded)
        throw new CommandFailure(
          'The database has not been migrated to this version of Posthorn. Run posthorn migrate.',
        );
      await migrate(database);
    }
    return opened;
  } catch (error) {
    await opened.close();
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

/** Returns why the database that `name` names cannot be reached, in one line; undefined if that is not the problem. */
export function unreachableFailure(
  error: unknown,
  name: string,
  source: string,
  advice: string,
): CommandFailure | undefined {
  if (errors.isTooSlow(error)) return new CommandFailure(`The ${name} ${tooSlow}. Try again.`);
  if (errors.isRefusedWrite(error) || !(errors.isUnreachable(error) || errors.isConnectFailure(error)))
    return undefined;
  const reason = errors.reasonOf(error as Error);
  return new CommandFailure(
    `Cannot connect to the ${name}: ${reason}. ${connectAdvice(error, source) ?? advice}`,
  );
}

/** Fails with one line if a command reads the data of an organization that lives in another cell. */
export async function requireHere(database: Database, organizationId: string): Promise<void> {
  const relocation = await readRelocation(database, organizationId);
  const problem = relocation && relocationProblem(relocation, false);
  if (problem)
    throw failureFor(organizationId, { cell: relocation.cell, isMoving: problem.code !== 'wrong_cell' });
}

/** Waits for a write. Fails with one line if the organization, which `whose` names, lives in another cell. */
export async function writtenHere<T>(whose: string, write: Promise<T>): Promise<T> {
  return write.catch((error) => {
    const refusal = errors.refusalOf(error);
    throw refusal ? failureFor(whose, refusal) : error;
  });
}

function failureFor(
  whose: string,
  { cell, isMoving }: Omit<errors.Refusal, 'organizationId'>,
): CommandFailure {
  return new CommandFailure(
    isMoving
      ? `${whose} is moving to the cell ${cell}. Run the command again when the move has ended.`
      : `${whose} is in the cell ${cell}. Run the command with the DATABASE_URL of that cell.`,
  );
}
