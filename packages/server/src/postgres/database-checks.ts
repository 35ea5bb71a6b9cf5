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
  ...['default_transaction_isolation', 'default_transaction_read_only'],
  ...['max_locks_per_transaction', 'max_prepared_transactions', 'server_encoding'],
];

/**
 * What to do about a database whose encoding is not UTF8. The encoding of a database cannot be changed, and only UTF8
 * can store every event.
 */
export const encodingRemedy = "Create a database with ENCODING 'UTF8'.";

/** SQL that builds a statement whose setting takes precedence over those of the server, the database and the user. */
export const isolationRepair = `
  format('alter role %I in database %I set default_transaction_isolation = ''read committed'';',
         session_user, current_database())`;

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
         ${isolationRepair} as isolation_repair,
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

/**
 * Returns the newest webhook with its encrypted secret, so that the caller can check whether the secret key decrypts
 * it. Returns undefined if there are no webhooks.
 */
export async function readSealedSecret(
  database: Queryable,
): Promise<{ id: string; secret: Buffer } | undefined> {
  const { rows } = await database.query<{ id: string; secret: Buffer }>({
    text: 'select id, secret from posthorn.webhooks order by created_at desc limit 1',
  });
  return rows[0];
}
