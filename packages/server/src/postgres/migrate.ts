import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { OperatorError } from '../values/problem.js';
import type { Database, Queryable } from './database.js';
import { obstaclesIn, readDatabaseFacts } from './database-checks.js';
import { isLockTimeout, isUnreachable } from './database-errors.js';

const directory = new URL('../../schema/', import.meta.url);

/** Reports that this version cannot use the database. The database was not changed. */
export class IncompatibleDatabase extends OperatorError {
  override name = 'IncompatibleDatabase';
}

/**
 * A statement that waits for a lock makes all later users of the table wait behind it. So a migration waits for a lock
 * only for a moment, but longer than `deadlock_timeout` (1 s by default), after which autovacuum gives way. Between two
 * tries, the other sessions catch up.
 */
export const migrationLimits: { readonly lockMs: number; readonly pauseMs: number } = {
  lockMs: 1_500,
  pauseMs: 3_000,
};

export const blocked =
  'the migration is waiting for other sessions to end their transactions; pg_stat_activity shows them';

/** One file of the schema, named by its path in `schema/`. */
interface SchemaFile {
  name: string;
  text: string;
  /** The parameters of the text. */
  values: string[];
  checksum: string;
}

/** The files of this package that the files in `schema/rows` get as their parameter, so that no data is written twice. */
const dataOfRows: Readonly<Record<string, string>> = {
  'event_types.sql': 'catalogue.json',
  'lifecycle_moves.sql': 'lifecycles.json',
};

/**
 * Brings the database to this version's schema and returns the names of the files it applied: the baseline on an empty
 * database, then the migrations that are missing, then the functions and rows whose text has changed. Nodes that start
 * at the same time wait for each other. Everything happens in one transaction. While another session's transaction is
 * in the way, this function keeps retrying. It calls `onBlocked` once.
 */
export async function migrate(
  database: Database,
  onBlocked: () => void = () => undefined,
): Promise<readonly string[]> {
  const revision = readRevision();
  return database.transaction(async (client) => {
    const [obstacle] = obstaclesIn(await readDatabaseFacts(client));
    if (obstacle) throw new IncompatibleDatabase(obstacle.refusal);
    await client.query({ text: "select pg_advisory_xact_lock(hashtextextended('posthorn.migrations', 0))" });
    const applied = await readApplied(client);
    refuseNewer(applied, revision);
    const pending = readSchema().filter(isPending(applied));
    if (pending.length > 0) await untilUnblocked(client, onBlocked, () => apply(client, pending, revision));
    return pending.map(({ name }) => name);
  }, true);
}

/** Runs `work` until it gets every lock in time. Until then, this transaction keeps other nodes from migrating. */
async function untilUnblocked(
  client: Queryable,
  onBlocked: () => void,
  work: () => Promise<void>,
): Promise<void> {
  const { lockMs, pauseMs } = migrationLimits;
  await client.query({ text: 'savepoint unblocked' });
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query({ text: `set local lock_timeout = ${lockMs}` });
      return await work();
    } catch (error) {
      if (!isBlocked(error)) throw error;
      await client.query({ text: 'rollback to savepoint unblocked' });
      if (tries === 1) onBlocked();
      // Pauses on the server: if the server limits how long a transaction may be idle, a pause here would end this one.
      await client.query({ text: 'select pg_sleep($1)', values: [pauseMs / 1_000] });
    }
  }
}

/** Returns whether another transaction was in the way: it held a lock for too long, or there was a deadlock. */
function isBlocked(error: unknown): boolean {
  return isLockTimeout(error) || (error as { code?: string }).code === '40P01';
}

/** Returns a test for files to apply: functions and rows whose text has changed, and files that were never applied. */
function isPending(applied: Applied): (file: SchemaFile) => boolean {
  return ({ name, checksum }) =>
    !applied.checksums.has(name) ||
    (/^(functions|rows)\//.test(name) && applied.checksums.get(name) !== checksum);
}

async function apply(client: Queryable, pending: readonly SchemaFile[], revision: number): Promise<void> {
  await client.query({
    text: `
  -- A function may be created before the functions that it calls.
  set local check_function_bodies = off;
  create schema if not exists posthorn;
  create table if not exists posthorn.schema_files (
    name       text primary key,
    checksum   text not null,
    revision   int not null,
    applied_at timestamptz not null default now()
  )`,
  });
  for (const { name, text, values, checksum } of pending) {
    await client.query({ text, values }).catch((error: Error) => {
      if (isUnreachable(error) || isBlocked(error)) throw error;
      throw new OperatorError(
        `${name} could not be applied: ${error.message}. Nothing in the database was changed.`,
        { cause: error },
      );
    });
    await client.query({
      text: `
  insert into posthorn.schema_files (name, checksum, revision) values ($1, $2, $3)
  on conflict (name) do update set checksum = excluded.checksum, revision = excluded.revision, applied_at = now()`,
      values: [name, checksum, revision],
    });
  }
}

/** Returns whether the database has this version's schema or a newer one, as during a rolling upgrade. */
export async function isMigrated(database: Database): Promise<boolean> {
  return (await compareSchema(database)) !== 'older';
}

/** Returns how the schema of the database compares with that of this version. */
export async function compareSchema(database: Database): Promise<'older' | 'same' | 'newer'> {
  const difference = (await readApplied(database)).revision - readRevision();
  return difference === 0 ? 'same' : difference < 0 ? 'older' : 'newer';
}

/**
 * Returns the files in the order in which they are applied to an empty database. There are dozens of small ones: reading
 * them synchronously takes a fraction of the time, and a node has nothing else to do while it starts.
 */
function readSchema(): readonly SchemaFile[] {
  const files: SchemaFile[] = [];
  for (const folder of ['baseline', 'migrations', 'functions', 'rows']) {
    for (const file of filesIn(folder)) {
      const name = `${folder}/${file}`;
      const text = readFileSync(new URL(name, directory), 'utf8');
      const data = folder === 'rows' ? [dataOfRows[file]!] : [];
      const values = data.map((path) =>
        JSON.stringify(JSON.parse(readFileSync(new URL(`../${path}`, directory), 'utf8'))),
      );
      const checksum = createHash('sha256')
        .update([text, ...values].join(''))
        .digest('hex');
      files.push({ name, text, values, checksum });
    }
  }
  return files;
}

function filesIn(folder: string): readonly string[] {
  const names = readdirSync(new URL(`${folder}/`, directory));
  // `10_` comes after `9_`.
  const order = new Intl.Collator('en', { numeric: true });
  return names.filter((name) => name.endsWith('.sql')).sort(order.compare);
}

/** Returns the revision, which increases with every released schema change. */
function readRevision(): number {
  return Number(readFileSync(new URL('revision', directory), 'utf8'));
}

interface Applied {
  revision: number;
  checksums: ReadonlyMap<string, string>;
}

async function readApplied(client: Queryable): Promise<Applied> {
  if (!(await hasSchema(client))) return { revision: 0, checksums: new Map() };
  const { rows } = await client.query<{ name: string; checksum: string; revision: number }>({
    text: 'select name, checksum, revision from posthorn.schema_files',
  });
  return {
    revision: Math.max(0, ...rows.map(({ revision }) => revision)),
    checksums: new Map(rows.map(({ name, checksum }) => [name, checksum])),
  };
}

function refuseNewer(applied: Applied, revision: number): void {
  if (applied.revision > revision) {
    throw new IncompatibleDatabase(
      `The database has schema revision ${applied.revision}; this version of Posthorn supports revision ${revision}. ` +
        'Nothing in it was changed. Start the newer version that migrated it.',
    );
  }
}

/**
 * Returns whether any file of the schema was applied. Queries the system catalog, because `to_regclass` may return a
 * result cached before the lock was granted.
 */
async function hasSchema(client: Queryable): Promise<boolean> {
  const { rowCount } = await client.query({
    text: "select from pg_catalog.pg_tables where schemaname = 'posthorn' and tablename = 'schema_files'",
  });
  return rowCount === 1;
}
