import type { Queryable } from './database.js';

export interface DatabaseFacts {
  version: string;
  version_number: number;
  user: string;
  /** The clock of the database, in milliseconds since 1970. */
  clock_ms: number;
  is_standby: boolean;
  can_create: boolean;
  /** The owner of the tables. Null before the first migration. */
  owner: string | null;
  /** Whether the user has the rights of the owner. Null before the first migration. */
  is_owner: boolean | null;
  settings: Readonly<Record<string, string>>;
  /** The statement that gives this user the isolation level that Posthorn needs. */
  isolation_repair: string;
}

/** PostgreSQL settings that durability or operation depends on. */
const settingNames = [
  ...['fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'max_connections'],
  ...['default_transaction_isolation', 'default_transaction_read_only', 'server_encoding'],
];

export async function readDatabaseFacts(database: Queryable): Promise<DatabaseFacts> {
  const { rows } = await database.query<Omit<DatabaseFacts, 'settings'> & { settings: string }>({
    text: `
  select current_setting('server_version') as version,
         current_setting('server_version_num')::int as version_number,
         current_user::text as "user",
         extract(epoch from clock_timestamp())::float8 * 1000 as clock_ms,
         pg_is_in_recovery() as is_standby,
         has_database_privilege(current_database(), 'create') as can_create,
         e.owner,
         e.is_owner,
         -- This setting takes precedence over those of the server, the database and the user.
         format('alter role %I in database %I set default_transaction_isolation = ''read committed'';',
                session_user, current_database()) as isolation_repair,
         (select json_object_agg(name, setting) from pg_settings where name = any ($1)) as settings
    from (select) s
    -- Looked up in the catalog, because a user without rights on the schema cannot refer to the table.
    left join (select pg_get_userbyid(c.relowner)::text as owner, pg_has_role(c.relowner, 'usage') as is_owner
                 from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname = 'posthorn' and c.relname = 'events') e on true`,
    values: [settingNames],
  });
  const { settings, ...facts } = rows[0]!;
  return { ...facts, settings: JSON.parse(settings) };
}

/** Why Posthorn cannot use a database. */
export interface Obstacle {
  check: string;
  detail: string;
  remedy: string;
  /** The reason in one line, for whoever tries to use the database. */
  refusal: string;
}

/** Returns why Posthorn cannot use this database: the doctor reports all of it, and the first one stops a migration. */
export function obstaclesIn(facts: DatabaseFacts): readonly Obstacle[] {
  const { version, version_number, isolation_repair } = facts;
  const { server_encoding: encoding, default_transaction_isolation: isolation } = facts.settings;
  const obstacles: Obstacle[] = [];
  if (version_number < 150_000)
    obstacles.push({
      check: 'database',
      detail: `PostgreSQL ${version}`,
      remedy: 'Upgrade PostgreSQL to version 15 or newer.',
      refusal: `This database is PostgreSQL ${Math.floor(version_number / 10_000)}; Posthorn needs 15 or newer.`,
    });
  if (encoding !== 'UTF8') {
    // The encoding of a database cannot be changed, and only UTF8 can store every event.
    const remedy = "Create a database with ENCODING 'UTF8'.";
    const refusal = `The database uses ${encoding}. ${remedy}`;
    obstacles.push({ check: 'encoding', detail: `the database uses ${encoding}`, remedy, refusal });
  }
  // Our transactions state their isolation level, but a statement outside of a transaction uses the default.
  if (isolation !== 'read committed') {
    const is = `default_transaction_isolation is '${isolation}'`;
    const remedy = `In psql: ${isolation_repair}`;
    obstacles.push({
      check: 'isolation',
      detail: `${is}, not 'read committed'`,
      remedy,
      refusal: `${is}; Posthorn needs 'read committed'. ${remedy}`,
    });
  }
  return obstacles;
}

/** Tells databases apart. */
export interface DatabaseIdentity {
  /** When the server started, to the microsecond. */
  started_at: string;
  database: number;
  is_standby: boolean;
}

export async function readDatabaseIdentity(database: Queryable): Promise<DatabaseIdentity> {
  const { rows } = await database.query<DatabaseIdentity>({
    text: `
  select extract(epoch from pg_postmaster_start_time())::text as started_at,
         (select d.oid::bigint from pg_database d where d.datname = current_database()) as database,
         pg_is_in_recovery() as is_standby`,
  });
  return rows[0]!;
}
