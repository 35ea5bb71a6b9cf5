import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { Database } from '../../src/storage/database.js';
import { afterFile } from './cleanup.js';
import { administer, nameOf, urlOf } from './postgres.js';

export interface TestDatabase {
  url: string;
  database: Database;
  /** Drops it before the end of the file: each holds connections, of which a server has so many. */
  drop: () => Promise<void>;
}

/** Creates a database of the calling test file's own, dropped after it. `empty`: without our schema. */
export async function freshDatabase(empty = false): Promise<TestDatabase> {
  const url = await createDatabase(empty);
  const database = new Database({ connectionString: url });
  let dropped: Promise<void> | undefined;
  const drop = () => {
    dropped ??= database
      .close()
      .then(() => administer(inject('adminUrl'), `drop database if exists ${nameOf(url)} with (force)`));
    return dropped;
  };
  afterFile(drop);
  return { url, database, drop };
}

/** Creates a database and returns its URL. The global teardown drops it if nobody has. */
export async function createDatabase(empty = false): Promise<string> {
  const name = `${inject('databasePrefix')}${randomBytes(6).toString('hex')}`;
  const adminUrl = inject('adminUrl');
  await administer(
    adminUrl,
    `create database ${name} template ${empty ? 'template0' : inject('templateName')} strategy file_copy`,
  );
  return urlOf(adminUrl, name);
}
