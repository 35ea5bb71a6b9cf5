import { readdir, readFile } from 'node:fs/promises';
import type { Database, Queryable } from './database.js';

const directory = new URL('../../migrations/', import.meta.url);
const serverVersionMin = 150_000;

/** The database cannot be used by this version of the program. Nothing in it was touched. */
export class IncompatibleDatabase extends Error {
  override name = 'IncompatibleDatabase';
}

interface Migration {
  number: number;
  name: string;
}

/**
 * Brings the database to this version's schema and answers what was applied. Nodes that start at once
 * wait for each other; the whole step is one transaction.
 */
export async function migrate(database: Database): Promise<readonly string[]> {
  const known = await listMigrations();
  return database.transaction(async (client) => {
    await refuseOldServer(client);
    await client.query({ text: "select pg_advisory_xact_lock(hashtextextended('posthorn.migrations', 0))" });
    const applied = await readApplied(client);
    refuseNewer(applied, known);
    const pending = known.filter(({ number }) => !applied.has(number));
    if (pending.length > 0) await apply(client, pending);
    // Loaded here: the tables behind it take longer to load than most commands take to run.
    const { addLifecycleMoves } = await import('./lifecycle-moves.js');
    await addLifecycleMoves(client);
    return pending.map(({ name }) => name);
  }, true);
}

async function apply(client: Queryable, pending: readonly Migration[]): Promise<void> {
  await client.query({
    text: `
  create schema if not exists posthorn;
  create table if not exists posthorn.migrations (
    number     int primary key,
    name       text not null,
    applied_at timestamptz not null default now()
  )`,
  });
  for (const { number, name } of pending) {
    await client.query({ text: await readFile(new URL(name, directory), 'utf8') });
    await client.query({
      text: 'insert into posthorn.migrations (number, name) values ($1, $2)',
      values: [number, name],
    });
  }
}

/** Whether every migration of this version is in the database. */
export async function isMigrated(database: Database): Promise<boolean> {
  const known = await listMigrations();
  if (!(await hasMigrations(database))) return false;
  const applied = await database.query<{ count: number }>({
    text: 'select count(*) from posthorn.migrations where number <= $1',
    values: [known.length],
  });
  return applied.rows[0]?.count === known.length;
}

async function listMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).sort();
  return names.map((name) => ({ number: Number(name.slice(0, 4)), name }));
}

async function refuseOldServer(client: Queryable): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>({ text: 'show server_version_num' });
  const version = Number(rows[0]?.server_version_num);
  if (version < serverVersionMin) {
    throw new IncompatibleDatabase(
      `This database is PostgreSQL ${Math.floor(version / 10_000)}; Posthorn needs 15 or newer.`,
    );
  }
}

async function readApplied(client: Queryable): Promise<ReadonlySet<number>> {
  if (!(await hasMigrations(client))) return new Set();
  const { rows } = await client.query<{ number: number }>({ text: 'select number from posthorn.migrations' });
  return new Set(rows.map(({ number }) => number));
}

/** Read from the catalogue itself: `to_regclass` may remember what it said before we waited for the lock. */
async function hasMigrations(client: Queryable): Promise<boolean> {
  const { rows } = await client.query<{ present: boolean }>({
    text: `
  select exists (select from pg_catalog.pg_tables where schemaname = 'posthorn' and tablename = 'migrations') as present`,
  });
  return rows[0]?.present === true;
}

function refuseNewer(applied: ReadonlySet<number>, known: readonly Migration[]): void {
  const newest = known.at(-1)?.number ?? 0;
  const ahead = Math.max(0, ...applied);
  if (ahead > newest) {
    throw new IncompatibleDatabase(
      `The database is at migration ${ahead}, this version of Posthorn knows ${newest}. ` +
        'It was left untouched; start the newer version that migrated it.',
    );
  }
}
