import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { Database } from '../../src/storage/database.js';
import { afterFile } from './cleanup.js';
import { administer, urlOf } from './postgres.js';

export interface TestDatabase {
  url: string;
  database: Database;
  /** Drops it before the end of the file: each holds connections, of which a server has so many. */
  drop: () => Promise<void>;
}

/** A database of the calling test file's own, dropped after it. `empty`: without our schema. */
export async function freshDatabase(empty = false): Promise<TestDatabase> {
  const name = `posthorn_test_${randomBytes(6).toString('hex')}`;
  const adminUrl = inject('adminUrl');
  await administer(
    adminUrl,
    `create database ${name} template ${empty ? 'template0' : inject('templateName')} strategy file_copy`,
  );
  const url = urlOf(adminUrl, name);
  const database = new Database({ connectionString: url });
  let dropped: Promise<void> | undefined;
  const drop = () => {
    dropped ??= database
      .close()
      .then(() => administer(adminUrl, `drop database if exists ${name} with (force)`));
    return dropped;
  };
  afterFile(drop);
  return { url, database, drop };
}
