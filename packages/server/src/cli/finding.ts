import { access, constants, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { Database } from '../postgres/database.js';
import { readDatabaseIdentity } from '../postgres/database-checks.js';
import { isConnectFailure, isTooSlow, isUnreachable, reasonOf } from '../postgres/database-errors.js';
import type { Config } from '../settings/config.js';
import { needsDirectory } from '../settings/keys.js';
import { connectAdvice, tooSlow } from './with-database.js';

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

/** Checks that a service can listen on an address, or that Posthorn listens there already. */
export async function checkPort(
  check: string,
  host: string,
  port: number,
  settings: string,
): Promise<Finding> {
  const place = `${host}:${port}`;
  const code = await new Promise<string | undefined>((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
  if (code === undefined) return fine(check, `${place} is free`);
  if (code !== 'EADDRINUSE')
    return problem(
      check,
      `cannot listen on ${place}: ${code}`,
      `Set ${settings} to an address of this machine.`,
    );
  if (await isPosthorn(host, port)) return fine(check, `Posthorn is listening on ${place}`);
  return problem(check, `another program is listening on ${place}`, `Stop it, or change ${settings}.`);
}

async function isPosthorn(host: string, port: number): Promise<boolean> {
  const name =
    host === '0.0.0.0' ? '127.0.0.1' : host.includes(':') ? `[${host === '::' ? '::1' : host}]` : host;
  const response = await fetch(`http://${name}:${port}/healthz`, {
    signal: AbortSignal.timeout(2_000),
  }).catch(() => undefined);
  return response?.ok === true && response.headers.has('x-request-id');
}

/** Checks that the data directory is writable, and that nobody else can read its keys. */
export async function checkDirectory(dataDir: string): Promise<Finding> {
  const check = 'data directory';
  const info = await stat(dataDir).catch(() => undefined);
  if (!info) {
    const existing = await nearestExisting(dirname(resolve(dataDir)));
    return (await isWritableDirectory(existing))
      ? fine(check, `${dataDir} does not exist yet`)
      : problem(
          check,
          `${dataDir} cannot be created, because ${existing} is not a writable directory`,
          `POSTHORN_DATA_DIR: ${needsDirectory}`,
        );
  }
  if (!(await isWritableDirectory(dataDir)))
    return problem(
      check,
      `${dataDir} is not writable`,
      `Run chown ${process.getuid?.() ?? ''} ${dataDir}, or set POSTHORN_DATA_DIR.`,
    );
  for (const name of ['secret-key', 'platform-token']) {
    const file = join(dataDir, name);
    const { mode = 0 } = (await stat(file).catch(() => undefined)) ?? {};
    if ((mode & 0o077) !== 0) return problem(check, `other users can read ${file}`, `Run chmod 600 ${file}.`);
  }
  return fine(check, `${dataDir} is writable, and its keys are private`);
}

async function nearestExisting(path: string): Promise<string> {
  const exists = await stat(path).then(
    () => true,
    () => false,
  );
  return exists || dirname(path) === path ? path : nearestExisting(dirname(path));
}

async function isWritableDirectory(path: string): Promise<boolean> {
  try {
    await access(path, constants.W_OK);
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
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
