import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { Database, type DatabaseTarget } from '../../src/storage/database.js';
import { openEmbedded } from '../../src/storage/embedded/embedded.js';
import { migrate } from '../../src/storage/migrate.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL on which tests make databases of their own. */
    adminUrl: string;
    /** A migrated database that fresh ones are copied from. */
    templateName: string;
    /** A data directory with a migrated embedded database that nobody uses: starting a copy saves 2 s. */
    preparedDirectory: string;
  }
}

/** One PostgreSQL for the whole run: the embedded one, or the one DATABASE_URL names. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.DATABASE_URL;
  delete process.env.DATABASE_URL;
  const place = await mkdtemp(join(tmpdir(), 'posthorn-test-'));
  // Without this the database of a run as root would be placed elsewhere, and stay there.
  await chmod(place, 0o711);
  const preparedDirectory = join(place, 'prepared');
  await prepare(preparedDirectory);

  const shared = given ? await openGiven(given) : await openShared(preparedDirectory, join(place, 'shared'));
  project.provide('preparedDirectory', preparedDirectory);
  project.provide('adminUrl', shared.adminUrl);
  project.provide('templateName', shared.templateName);
  return async () => {
    await shared.close();
    await rm(place, { recursive: true, force: true });
  };
}

interface SharedPostgres {
  adminUrl: string;
  templateName: string;
  close: () => Promise<void>;
}

/** Copies sync nothing to the disk: what a killed process has written, the kernel keeps. */
async function prepare(directory: string): Promise<void> {
  const embedded = await openEmbedded(directory, 'command');
  await migrateAll(embedded.connection);
  await administer(urlOfSocket(embedded.connection.host), 'alter system set fsync = off');
  await embedded.close();
}

const urlOfSocket = (host: string) => `postgres://posthorn@/postgres?host=${encodeURIComponent(host)}`;

/** Starts a copy of the prepared database. Its own database is the template. */
async function openShared(prepared: string, directory: string): Promise<SharedPostgres> {
  copyDirectory(prepared, directory);
  const embedded = await openEmbedded(directory, 'command');
  const { host, database: templateName } = embedded.connection;
  const adminUrl = urlOfSocket(host);
  // This cluster lives as long as the run. Tests of crashes have clusters of their own.
  await administer(
    adminUrl,
    'alter system set synchronous_commit = off',
    'alter system set full_page_writes = off',
    // Each test that needs a database copies the template, hundreds of times in a run.
    'alter system set file_copy_method = clone',
    'select pg_reload_conf()',
  );
  return { adminUrl, templateName, close: () => embedded.close() };
}

async function openGiven(adminUrl: string): Promise<SharedPostgres> {
  const templateName = `posthorn_template_${process.pid}`;
  const drop = () => administer(adminUrl, `drop database if exists ${templateName} with (force)`);
  await drop();
  await administer(adminUrl, `create database ${templateName}`);
  await migrateAll({ connectionString: urlOf(adminUrl, templateName) });
  return { adminUrl, templateName, close: drop };
}

async function migrateAll(target: DatabaseTarget): Promise<void> {
  const database = new Database(target, 1);
  await migrate(database);
  await database.close();
}

export async function administer(adminUrl: string, ...statements: string[]): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  for (const statement of statements) await admin.query(statement);
  await admin.end();
}

/** Copies a directory with the owners of its files, which Node's own copying does not keep. */
export function copyDirectory(original: string, copy: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', original, copy], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

export function urlOf(adminUrl: string, database: string): string {
  return adminUrl.replace(/^(postgres(?:ql)?:\/\/[^/]*)\/[^?]*/, `$1/${database}`);
}
