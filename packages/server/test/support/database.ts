import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { Database } from '../../src/storage/database.js';
import { afterFile } from './cleanup.js';
import { urlOf } from './postgres.js';

export interface TestDatabase {
  url: string;
  database: Database;
}

/** A database of the calling test file's own, dropped after it. `empty`: without our schema. */
export async function freshDatabase(empty = false): Promise<TestDatabase> {
  const adminUrl = inject('adminUrl');
  const name = `posthorn_test_${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  await admin.query(`create database ${name} template ${empty ? 'template0' : inject('templateName')}`);
  const url = urlOf(adminUrl, name);
  const database = new Database({ connectionString: url });
  afterFile(async () => {
    await database.close();
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.end();
  });
  return { url, database };
}
