import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { Database } from '../../src/storage/database.js';
import { afterFile } from './cleanup.js';
import { urlOf } from './postgres.js';

export interface TestDatabase {
  url: string;
  database: Database;
  /** Drops it before the end of the file: each holds connections, of which a server has so many. */
  drop: () => Promise<void>;
}

async function administer(statement: string): Promise<void> {
  const admin = new pg.Client({ connectionString: inject('adminUrl') });
  await admin.connect();
  await admin.query(statement);
  await admin.end();
}

/** A database of the calling test file's own, dropped after it. `empty`: without our schema. */
export async function freshDatabase(empty = false): Promise<TestDatabase> {
  const name = `posthorn_test_${randomBytes(6).toString('hex')}`;
  await administer(`create database ${name} template ${empty ? 'template0' : inject('templateName')}`);
  const url = urlOf(inject('adminUrl'), name);
  const database = new Database({ connectionString: url });
  let dropped: Promise<void> | undefined;
  const drop = () => {
    dropped ??= database.close().then(() => administer(`drop database if exists ${name} with (force)`));
    return dropped;
  };
  afterFile(drop);
  return { url, database, drop };
}
