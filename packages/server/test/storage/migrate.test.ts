import { readdir } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Database } from '../../src/storage/database.js';
import { IncompatibleDatabase, isMigrated, migrate } from '../../src/storage/migrate.js';
import { freshDatabase } from '../support/database.js';

const files = (await readdir(new URL('../../migrations/', import.meta.url))).sort();

let url: string;
let database: Database;
beforeEach(async () => {
  ({ url, database } = await freshDatabase(true));
});

async function column<T>(text: string): Promise<T[]> {
  const { rows } = await database.query<{ value: T }>({ text });
  return rows.map(({ value }) => value);
}

const applied = () => column<string>('select name as value from posthorn.migrations order by number');
const tables = () =>
  column<string>("select tablename as value from pg_tables where schemaname = 'posthorn' order by 1");

test('migrations are numbered from 1 without a gap', () => {
  expect(files.map((name) => Number(name.slice(0, 4)))).toEqual(files.map((_, index) => index + 1));
});

test('an empty database gets every migration, in order', async () => {
  expect(await isMigrated(database)).toBe(false);
  expect(await migrate(database)).toEqual(files);
  expect(await applied()).toEqual(files);
  expect(await isMigrated(database)).toBe(true);
});

test('migrating again applies nothing', async () => {
  await migrate(database);
  const before = await column('select (number, name, applied_at)::text as value from posthorn.migrations');
  expect(await migrate(database)).toEqual([]);
  expect(await column('select (number, name, applied_at)::text as value from posthorn.migrations')).toEqual(
    before,
  );
});

describe('several nodes that migrate at once', () => {
  let nodes: Database[];
  beforeEach(() => {
    nodes = Array.from({ length: 5 }, () => new Database({ connectionString: url }, 1));
  });
  afterEach(() => Promise.all(nodes.map((node) => node.close())));

  test('apply each migration once', async () => {
    const answers = await Promise.all(nodes.map((node) => migrate(node)));
    expect(answers.flat().sort()).toEqual(files);
    expect(answers.filter((names) => names.length > 0)).toHaveLength(1);
    expect(await applied()).toEqual(files);
  });
});

test('a database newer than the code is refused and left untouched', async () => {
  await database.query({
    text: `create schema posthorn`,
  });
  await database.query({
    text: `create table posthorn.migrations (number int primary key, name text not null, applied_at timestamptz)`,
  });
  await database.query({ text: `insert into posthorn.migrations values (9001, '9001_the_future.sql')` });

  const refusal = migrate(database);
  await expect(refusal).rejects.toBeInstanceOf(IncompatibleDatabase);
  await expect(refusal).rejects.toThrow(
    `The database is at migration 9001, this version of Posthorn knows ${files.length}. ` +
      'It was left untouched; start the newer version that migrated it.',
  );
  expect(await tables()).toEqual(['migrations']);
  expect(await applied()).toEqual(['9001_the_future.sql']);
  expect(await isMigrated(database)).toBe(false);
});

test('a migration that fails leaves nothing of those before it', async () => {
  await database.query({ text: 'create schema posthorn' });
  await database.query({ text: 'create table posthorn.tokens ()' });
  await expect(migrate(database)).rejects.toThrow('"tokens" already exists');
  expect(await tables()).toEqual(['tokens']);
});

test('a database that lacks one migration is not taken for migrated, and gets that one', async () => {
  await migrate(database);
  await database.query({ text: 'drop table posthorn.tokens' });
  await database.query({ text: 'delete from posthorn.migrations where number = 2' });
  expect(await isMigrated(database)).toBe(false);
  expect(await migrate(database)).toEqual(['0002_tokens.sql']);
});

test('a PostgreSQL that is too old is refused by its version before anything else is asked of it', async () => {
  const asked: string[] = [];
  const old = {
    transaction: (work: (client: unknown) => Promise<unknown>) =>
      work({
        query: async (text: string) => {
          asked.push(text);
          return { rows: [{ server_version_num: '140012' }] };
        },
      }),
  } as unknown as Database;
  const refusal = migrate(old);
  await expect(refusal).rejects.toBeInstanceOf(IncompatibleDatabase);
  await expect(refusal).rejects.toThrow('This database is PostgreSQL 14; Posthorn needs 15 or newer.');
  expect(asked).toEqual([{ text: 'show server_version_num' }]);
});
