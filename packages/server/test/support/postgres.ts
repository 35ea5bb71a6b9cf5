import { spawn, spawnSync } from 'node:child_process';
import { access, chmod, constants, mkdtemp, open, readFile, rm, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { findBinaries } from '../../../embedded/src/binaries.js';
import { openCluster, stopServer } from '../../../embedded/src/cluster.js';
import { openEmbedded } from '../../../embedded/src/embedded.js';
import { findPostmaster } from '../../../embedded/src/postmaster.js';
import { Database, type DatabaseTarget } from '../../src/postgres/database.js';
import { migrate } from '../../src/postgres/migrate.js';
import { makePartitionsAhead } from '../../src/retention/retention-store.js';
import { bundleProgram, compileProgram } from './bundled-program.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL on which tests make databases of their own. */
    adminUrl: string;
    /** The databases that fresh ones are copied from. */
    templates: Templates;
    /** The start of the names of all databases of this run. */
    databasePrefix: string;
    /** A directory that is removed after the run. It is in memory if there is enough of it. */
    runDirectory: string;
    /** A data directory with a migrated embedded database that nobody uses: starting a copy saves 2 s. */
    preparedDirectory: string;
    /** The path of the program in one bundle. */
    bundledProgram: string;
  }
}

export interface Templates {
  /** Has our schema, and no partition yet. */
  migrated: string;
  /** Has the partitions that a service creates when it starts, too: these 15 tables take 150 ms of CPU. */
  partitioned: string;
}

/** One PostgreSQL for the whole run: the embedded one, or the one DATABASE_URL names. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.DATABASE_URL;
  delete process.env.DATABASE_URL;
  const place = await mkdtemp(join(await directoryForFiles(), 'posthorn-test-'));
  // Without this the database of a run as root would be placed elsewhere, and stay there.
  await chmod(place, 0o711);
  const preparedDirectory = join(place, 'prepared');
  const [bundledProgram] = await Promise.all([bundleProgram(), prepare(preparedDirectory)]);
  const [shared] = await Promise.all([
    given ? openGiven(given) : openShared(preparedDirectory, join(place, 'shared')),
    compileProgram(bundledProgram, () => {
      const compiling = join(place, 'compiling');
      copyDirectory(preparedDirectory, compiling);
      return compiling;
    }),
  ]);
  project.provide('bundledProgram', bundledProgram);
  project.provide('preparedDirectory', preparedDirectory);
  project.provide('runDirectory', place);
  project.provide('databasePrefix', databasePrefix);
  project.provide('adminUrl', shared.adminUrl);
  project.provide('templates', shared.templates);
  return async () => {
    await shared.close();
    await rm(place, { recursive: true, force: true });
  };
}

/**
 * Returns a directory in memory if there is enough of it. Creating a database means creating 480 files, which takes
 * 20 ms in memory. On ext4 it takes up to 150 ms of CPU after others have been dropped, because ext4 searches for a
 * file number that was not in use lately.
 */
async function directoryForFiles(): Promise<string> {
  const memory = '/dev/shm';
  const isWritable = await access(memory, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!isWritable) return tmpdir();
  const { bavail, bsize } = await statfs(memory);
  return Math.min(bavail * bsize, freemem()) > filesBytesMax ? memory : tmpdir();
}

/** A run needs 1 GB at most. The rest is left for the processes that it starts. */
const filesBytesMax = 4 * 1024 ** 3;

const databasePrefix = `posthorn_test_${process.pid}_`;

interface SharedPostgres {
  adminUrl: string;
  templates: Templates;
  close: () => Promise<void>;
}

/**
 * Creates a cluster to be copied. Copies sync nothing to the disk: what a killed process has written, the kernel keeps.
 * Their shared memory is in their own files, so that a killed server leaves nothing behind when these are removed.
 */
async function prepare(directory: string): Promise<void> {
  const embedded = await openEmbedded(directory, 'command');
  await migrateAll(embedded.connection);
  await administer(
    urlOfSocket(embedded.connection.host),
    'alter system set fsync = off',
    'alter system set dynamic_shared_memory_type = mmap',
  );
  await embedded.close();
}

const urlOfSocket = (host: string) => `postgres://posthorn@/postgres?host=${encodeURIComponent(host)}`;

/**
 * Starts a copy of the prepared database, whose own database is the template. The server lives as long as the run, so
 * its settings may lose data in a crash. Tests of crashes have clusters of their own.
 */
async function openShared(prepared: string, directory: string): Promise<SharedPostgres> {
  copyDirectory(prepared, directory);
  const cluster = await openCluster(directory);
  const { pgdata, account } = cluster;
  const settings = {
    listen_addresses: '',
    unix_socket_directories: pgdata,
    // Each worker has a service that files share, and the services and clients of the file that it runs.
    max_connections: '300',
    max_locks_per_transaction: '512',
    max_wal_size: '1GB',
    wal_level: 'minimal',
    max_wal_senders: '0',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    // Each test that needs a database copies the template, hundreds of times in a run.
    file_copy_method: 'clone',
    // Most databases live for seconds. A vacuum or an analysis in between changes the pages that tests count.
    autovacuum_naptime: '1d',
    timezone: 'UTC',
    jit: 'off',
  };
  const { postgres } = await findBinaries(account);
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = await open(cluster.logFile, 'a');
  const server = spawn(postgres, ['-D', pgdata, ...options], {
    ...account,
    cwd: '/',
    stdio: ['ignore', log.fd, log.fd],
  });
  await log.close();
  while (!(await findPostmaster(pgdata))?.ready) {
    if (server.exitCode !== null) throw new Error(await readFile(cluster.logFile, 'utf8'));
    await delay(10);
  }
  const adminUrl = urlOfSocket(pgdata);
  const templates = { migrated: 'posthorn', partitioned: await createPartitioned(adminUrl, 'posthorn') };
  return { adminUrl, templates, close: () => stopServer(cluster) };
}

async function openGiven(adminUrl: string): Promise<SharedPostgres> {
  const migrated = `${databasePrefix}template`;
  await administer(adminUrl, `create database ${migrated}`);
  await migrateAll({ connectionString: urlOf(adminUrl, migrated) });
  const templates = { migrated, partitioned: await createPartitioned(adminUrl, migrated) };
  return { adminUrl, templates, close: () => dropDatabases(adminUrl) };
}

/** Copies a migrated database, adds the partitions of the next weeks, and returns the name of the copy. */
async function createPartitioned(adminUrl: string, migrated: string): Promise<string> {
  const partitioned = `${databasePrefix}partitioned`;
  await administer(adminUrl, `create database ${partitioned} template ${migrated}`);
  const database = new Database({ connectionString: urlOf(adminUrl, partitioned) }, 1);
  await makePartitionsAhead(database, Date.now());
  await database.close();
  return partitioned;
}

/** Drops the template and the databases that workers leave behind. */
async function dropDatabases(adminUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  const { rows } = await admin.query('select datname from pg_database where starts_with(datname, $1)', [
    databasePrefix,
  ]);
  for (const { datname } of rows) await admin.query(`drop database if exists ${datname} with (force)`);
  await admin.end();
}

async function migrateAll(target: DatabaseTarget): Promise<void> {
  const database = new Database(target, 1);
  await migrate(database);
  await database.close();
}

async function administer(adminUrl: string, ...statements: string[]): Promise<void> {
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

export function nameOf(databaseUrl: string): string {
  return /^postgres(?:ql)?:\/\/[^/]*\/([^?]*)/.exec(databaseUrl)?.[1] ?? '';
}
