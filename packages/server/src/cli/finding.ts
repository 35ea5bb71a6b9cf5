import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Database } from '../postgres/database.js';
import { readDatabaseIdentity } from '../postgres/database-checks.js';
import { isConnectFailure, isTooSlow, isUnreachable, reasonOf } from '../postgres/database-errors.js';
import type { Config } from '../settings/config.js';
import { connectAdvice, tooSlow } from './operator.js';

/** What to do about webhooks whose secrets no key decrypts. */
export const restoreKey =
  'Restore the missing key and add it to POSTHORN_SECRET_KEY, or rotate the secrets of the webhooks.';

export function webhooksText(count: number): string {
  return `${count} ${count === 1 ? 'webhook' : 'webhooks'}`;
}

/** The result of one check of the doctor. */
export interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'problem';
  detail: string;
  /** What to do about it; null if there is nothing to do. */
  remedy: string | null;
}

export function fine(check: string, detail: string): Finding {
  return { check, state: 'ok', detail, remedy: null };
}

export function warning(check: string, detail: string, remedy: string): Finding {
  return { check, state: 'warning', detail, remedy };
}

export function problem(check: string, detail: string, remedy: string): Finding {
  return { check, state: 'problem', detail, remedy };
}

/** Reports why the database of a setting cannot be used. Throws any other error again. */
export function unusable(check: string, setting: string, error: unknown): Finding {
  if (isTooSlow(error))
    return problem(check, tooSlow, 'Wait until it is less busy, or end the session that holds the lock.');
  if (!isUnreachable(error) && !isConnectFailure(error)) throw error;
  const remedy = connectAdvice(error, setting) ?? `Start PostgreSQL, or correct ${setting}.`;
  return problem(check, `cannot connect: ${reasonOf(error as Error)}`, remedy);
}

/** Checks that nobody else can read the keys in the data directory. */
export async function checkKeyFiles(dataDir: string): Promise<Finding> {
  const check = 'data directory';
  for (const name of ['secret-key', 'platform-token']) {
    const file = join(dataDir, name);
    const { mode = 0 } = (await stat(file).catch(() => undefined)) ?? {};
    if ((mode & 0o077) !== 0) return problem(check, `other users can read ${file}`, `Run chmod 600 ${file}.`);
  }
  return fine(check, `no other user can read keys in ${dataDir}`);
}

/** Checks the databases of POSTHORN_DIRECT_DATABASE_URL and POSTHORN_READ_DATABASE_URL, if they are set. */
export async function* checkOtherDatabases(primary: Database, config: Config): AsyncGenerator<Finding> {
  const { directDatabaseUrl: direct, readDatabaseUrl: read } = config;
  if (direct !== undefined)
    yield await check('direct database', 'POSTHORN_DIRECT_DATABASE_URL', direct, async (database) => {
      const [given, own] = [await readDatabaseIdentity(database), await readDatabaseIdentity(primary)];
      return given.started_at === own.started_at && given.database === own.database
        ? undefined
        : 'not the database of DATABASE_URL';
    });
  if (read !== undefined)
    yield await check('read database', 'POSTHORN_READ_DATABASE_URL', read, async (database) =>
      (await readDatabaseIdentity(database)).is_standby ? undefined : 'not a streaming replica',
    );
}

/** Connects to a database. `fault` returns what is wrong with it. */
async function check(
  name: string,
  setting: string,
  connectionString: string,
  fault: (database: Database) => Promise<string | undefined>,
): Promise<Finding> {
  const database = new Database({ connectionString }, 1);
  try {
    const found = await fault(database);
    return found === undefined
      ? fine(name, `${setting} is correct`)
      : problem(name, found, `Correct ${setting}.`);
  } catch (error) {
    return unusable(name, setting, error);
  } finally {
    await database.close();
  }
}
