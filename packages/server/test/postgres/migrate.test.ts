import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { IncompatibleDatabase, isMigrated, migrate, migrationLimits } from '../../src/postgres/migrate.js';
import { changeSettings, freshDatabase, freshDatabaseIn } from '../support/database.js';

const schema = new URL('../../schema/', import.meta.url);
const revision = Number(await readFile(new URL('revision', schema), 'utf8'));
/** In the order in which an empty database gets them. */
const files = (
  await Promise.all(
    ['baseline', 'migrations', 'functions', 'rows'].map(async (folder) => {
      const names = await readdir(new URL(`${folder}/`, schema)).catch(() => []);
      const order = new Intl.Collator('en', { numeric: true });
      return names.sort(order.compare).map((name) => `${folder}/${name}`);
    }),
  )
).flat();

let url: string;
let database: Database;
/** A migrated one is a copy of a database that was migrated at the start of the run. */
async function open(kind: 'empty' | 'migrated'): Promise<void> {
  ({ url, database } = await freshDatabase(kind === 'empty'));
}

async function column<T>(text: string): Promise<T[]> {
  const { rows } = await database.query<{ value: T }>({ text });
  return rows.map(({ value }) => value);
}

const applied = () => column<string>('select name as value from posthorn.schema_files');
const log = () => column<string>('select s::text as value from posthorn.schema_files s order by name');
const tables = () =>
  column<string>("select tablename as value from pg_tables where schemaname = 'posthorn' order by 1");
const textOf = (name: string) =>
  column<string>(`
  select p.prosrc as value from pg_proc p
   where p.pronamespace = 'posthorn'::regnamespace and p.proname = '${name}'`);

test('an empty database gets the baseline, the migrations, the functions and the rows, each once', async () => {
  await open('empty');
  expect(await isMigrated(database)).toBe(false);
  expect(await migrate(database)).toEqual(files);
  expect((await applied()).sort()).toEqual([...files].sort());
  expect(await isMigrated(database)).toBe(true);
});

test('migrating again applies nothing', async () => {
  await open('migrated');
  const before = await log();
  expect(await migrate(database)).toEqual([]);
  expect(await log()).toEqual(before);
});

test('a function whose text has changed is replaced, and nothing else is applied', async () => {
  await open('migrated');
  const current = await textOf('ulid_head');
  await database.query({
    text: `
  create or replace function posthorn.ulid_head(at_ms bigint, high bigint) returns text
  language sql immutable strict parallel safe as $$ select 'of the version before' $$`,
  });
  await database.query({
    text: "update posthorn.schema_files set checksum = 'other' where name = 'functions/ulid_head.sql'",
  });
  expect(await migrate(database)).toEqual(['functions/ulid_head.sql']);
  expect(await textOf('ulid_head')).toEqual(current);
  expect(await migrate(database)).toEqual([]);
});

test('a baseline file that was applied with another text is not applied again', async () => {
  await open('migrated');
  await database.query({
    text: "update posthorn.schema_files set checksum = 'other' where name like 'baseline/%'",
  });
  expect(await migrate(database)).toEqual([]);
});

test('a missing file is applied', async () => {
  await open('migrated');
  await database.query({ text: 'drop table posthorn.tokens, posthorn.request_keys' });
  await database.query({
    text: "delete from posthorn.schema_files where name = 'baseline/4_access.sql'",
  });
  expect(await migrate(database)).toEqual(['baseline/4_access.sql']);
  expect(await tables()).toContain('tokens');
});

describe('several nodes that migrate at once', () => {
  let nodes: Database[];
  beforeEach(async () => {
    await open('empty');
    nodes = Array.from({ length: 5 }, () => new Database({ connectionString: url }, 1));
  });
  afterEach(() => Promise.all(nodes.map((node) => node.close())));

  test('apply each file once', async () => {
    const applications = await Promise.all(nodes.map((node) => migrate(node)));
    expect(applications.flat()).toEqual(files);
    expect(applications.filter((names) => names.length > 0)).toHaveLength(1);
    expect((await applied()).sort()).toEqual([...files].sort());
  });
});

test('a migration that a transaction blocks lets others use the table, and says that it waits', async () => {
  await open('migrated');
  const limits = { ...migrationLimits };
  Object.assign(migrationLimits, { lockMs: 50, pauseMs: 100 });
  onTestFinished(() => void Object.assign(migrationLimits, limits));
  await database.query({ text: 'alter table posthorn.cell drop column keys' });
  await database.query({ text: "delete from posthorn.schema_files where name like 'migrations/2%'" });
  let migrated: Promise<readonly string[]> | undefined;
  await database.transaction(async (client) => {
    await client.query({ text: 'select count(*) from posthorn.cell' });
    await new Promise<void>((onBlocked) => {
      migrated = migrate(database, onBlocked);
    });
    await database.query({ text: 'select from posthorn.cell' });
  });
  expect(await migrated).toEqual(['migrations/2_cell_keys.sql']);
});

describe('a database newer than the code', () => {
  beforeEach(async () => {
    await open('migrated');
    await database.query({
      text: `
  insert into posthorn.schema_files (name, checksum, revision)
  values ('migrations/9001_the_future.sql', '', 9001)`,
    });
  });

  test('is refused and left untouched', async () => {
    const before = await log();
    const refusal = migrate(database);
    await expect(refusal).rejects.toBeInstanceOf(IncompatibleDatabase);
    await expect(refusal).rejects.toThrow(
      `The database has schema revision 9001; this version of Posthorn supports revision ${revision}. ` +
        'Nothing in it was changed. Start the newer version that migrated it.',
    );
    expect(await log()).toEqual(before);
  });

  test('is good enough for nodes that are already running', async () => {
    expect(await isMigrated(database)).toBe(true);
  });
});

test('a failing file is named, and rolls back those before it', async () => {
  await open('empty');
  await database.query({ text: 'create schema posthorn' });
  await database.query({ text: 'create table posthorn.tokens ()' });
  await expect(migrate(database)).rejects.toThrow(
    'baseline/4_access.sql could not be applied: relation "tokens" already exists. Nothing in the database was changed.',
  );
  expect(await tables()).toEqual(['tokens']);
});

test('a PostgreSQL that is too old is refused by its version before anything else', async () => {
  let statements = 0;
  const old = {
    transaction: (work: (client: unknown) => Promise<unknown>) =>
      work({
        query: async () => {
          statements += 1;
          return { rows: [{ version_number: 140_012, settings: '{"server_encoding": "LATIN1"}' }] };
        },
      }),
  } as unknown as Database;
  const refusal = migrate(old);
  await expect(refusal).rejects.toBeInstanceOf(IncompatibleDatabase);
  await expect(refusal).rejects.toThrow('This database is PostgreSQL 14; Posthorn needs 15 or newer.');
  expect(statements).toBe(1);
});

test('a database with another isolation level is refused in one line, and the statement in it repairs that', async () => {
  await open('empty');
  const name =
    "default_transaction_isolation is 'repeatable read'; Posthorn needs 'read committed'. In psql: ";
  await changeSettings(database, { default_transaction_isolation: 'repeatable read' });
  const migrateOn = async () => {
    const other = new Database({ connectionString: url }, 1);
    return migrate(other).finally(() => other.close());
  };
  const refusal = await migrateOn().catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(IncompatibleDatabase);
  const { message } = refusal as Error;
  expect(message.slice(0, name.length)).toBe(name);
  expect(await tables()).toEqual([]);
  await database.query({ text: message.slice(name.length) });
  expect(await migrateOn()).toEqual(files);
});

test.each(['LATIN1', 'SQL_ASCII'] as const)('a database in %s is refused in one line', async (encoding) => {
  const { database: other } = await freshDatabaseIn(encoding);
  const refusal = migrate(other);
  await expect(refusal).rejects.toBeInstanceOf(IncompatibleDatabase);
  await expect(refusal).rejects.toThrow(
    `The database uses ${encoding}. Create a database with ENCODING 'UTF8'.`,
  );
});
