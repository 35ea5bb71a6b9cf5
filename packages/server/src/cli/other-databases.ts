import { Database } from '../postgres/database.js';
import { readDatabaseIdentity } from '../postgres/database-checks.js';
import { isConnectFailure, isTooSlow, isUnreachable, reasonOf } from '../postgres/database-errors.js';
import type { Config } from '../settings/config.js';
import { connectAdvice } from './connect-advice.js';
import { type Finding, fine, problem, slow } from './finding.js';

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
    if (isTooSlow(error)) return slow(name);
    if (!isUnreachable(error) && !isConnectFailure(error)) throw error;
    const remedy = connectAdvice(error, setting) ?? `Start PostgreSQL, or correct ${setting}.`;
    return problem(name, `cannot connect: ${reasonOf(error as Error)}`, remedy);
  } finally {
    await database.close();
  }
}
