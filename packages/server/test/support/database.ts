import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { Database } from '../../src/postgres/database.js';
import { afterFile } from './cleanup.js';
import { nameOf, type Templates, urlOf } from './postgres.js';

export interface TestDatabase {
  url: string;
  database: Database;
  /** Drops it before the end of the file: each holds connections, of which a server has so many. */
  drop: () => Promise<void>;
}

/** Creates a database of the calling test file's own, dropped after it. `empty`: without our schema. */
export function freshDatabase(empty = false): Promise<TestDatabase> {
  return droppedAfterFile(empty ? 'empty' : 'migrated');
}

/** Creates an empty database with another encoding, dropped after the calling test file. */
export function freshDatabaseIn(encoding: 'LATIN1' | 'SQL_ASCII'): Promise<TestDatabase> {
  return droppedAfterFile('empty', encoding);
}

/** Creates a database for a service of the calling test file, dropped after it. */
export function freshServiceDatabase(): Promise<TestDatabase> {
  return droppedAfterFile('partitioned');
}

async function droppedAfterFile(kind: Kind, encoding?: string): Promise<TestDatabase> {
  const url = await createDatabase(kind, encoding);
  const database = new Database({ connectionString: url });
  let dropped: Promise<void> | undefined;
  const drop = () => {
    dropped ??= database
      .close()
      .then(() => administer(`drop database if exists ${nameOf(url)} with (force)`));
    return dropped;
  };
  afterFile(drop);
  return { url, database, drop };
}

/** Changes settings of a database for the connections that are opened later. */
export async function changeSettings(database: Database, settings: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    await database.query({
      text: `
  do $$ begin
    execute format('alter database %I set ${name} = %L', current_database(), '${value}');
  end $$`,
    });
  }
}

/** Makes one of our functions wait only briefly for a locked row. */
export async function shortenLockWaits(database: Database, name: 'settle' | 'write_audit'): Promise<void> {
  await database.query({ text: `alter function posthorn.${name} set lock_timeout = '100ms'` });
}

type Kind = 'empty' | keyof Templates;

/** Creates a database and returns its URL. The global teardown drops it if nobody has. */
export async function createDatabase(kind: Kind, encoding?: string): Promise<string> {
  const name = `${inject('databasePrefix')}${randomBytes(6).toString('hex')}`;
  const template = kind === 'empty' ? 'template0' : inject('templates')[kind];
  // The locale C suits every encoding.
  const other = encoding === undefined ? '' : `encoding '${encoding}' locale 'C'`;
  await administer(`create database ${name} template ${template} strategy file_copy ${other}`);
  return urlOf(inject('adminUrl'), name);
}

let administrator: Promise<pg.Client> | undefined;

/**
 * Runs a statement on the connection that the files of a worker share: opening one takes half as much CPU as creating
 * a database. It ends with the worker.
 */
async function administer(statement: string): Promise<void> {
  administrator ??= connectAdministrator();
  await (await administrator).query(statement);
}

async function connectAdministrator(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: inject('adminUrl') });
  // A later statement opens another connection.
  client.on('error', () => {
    administrator = undefined;
  });
  await client.connect();
  return client;
}
