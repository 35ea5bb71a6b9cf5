import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { afterFile } from './cleanup.js';
import { copyDirectory } from './postgres.js';

/** The programs of an installed PostgreSQL with server and pg_dump; undefined without one. */
export const postgresPrograms: string | undefined = findPrograms();

function findPrograms(): string | undefined {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
  const newest = versions.map(Number).sort((a, b) => b - a)[0];
  const place = `/usr/lib/postgresql/${newest}/bin`;
  return ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore'].every((name) => existsSync(join(place, name)))
    ? place
    : undefined;
}

/** PostgreSQL refuses to run as root, so its account runs it then. */
function account(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout),
  );
  return { uid: uid || 65_534, gid: gid || 65_534 };
}

/** Runs one program of PostgreSQL to its end, and fails if it fails. */
function runPostgres(name: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(join(postgresPrograms ?? '', name), args, {
    ...{ ...account(), cwd: tmpdir(), stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' },
  });
  if (status !== 0) throw new Error(`${name} failed: ${stderr}`);
}

/** Returns the files of an empty PostgreSQL, which it creates in this directory if no file of the run has before. */
function initialize(directory: string): string {
  const initialized = join(inject('runDirectory'), 'initialized');
  if (existsSync(initialized)) return initialized;
  const draft = join(directory, 'initialized');
  runPostgres('initdb', '-D', draft, '-U', 'posthorn', '-A', 'trust', '--no-sync', '-E', 'UTF8');
  try {
    renameSync(draft, initialized);
    return initialized;
  } catch {
    // Another worker was faster.
    return draft;
  }
}

/** A running PostgreSQL, stopped after the file. */
export interface Postgres {
  directory: string;
  url: (database: string) => string;
}

/** Starts an installed PostgreSQL with two empty databases, `first` and `second`. */
export async function startPostgres(): Promise<Postgres> {
  const postgres = await startIn(async (directory, data) => copyDirectory(initialize(directory), data));
  for (const database of ['first', 'second'])
    runPostgres('createdb', '-h', join(postgres.directory, 's'), '-U', 'posthorn', database);
  return postgres;
}

/** Starts a standby of a PostgreSQL. `backUp` makes its files from those of the primary. */
export function startStandby(backUp: (data: string, account: Account) => Promise<void>): Promise<Postgres> {
  return startIn((_, data) => backUp(data, account()));
}

type Account = ReturnType<typeof account>;

async function startIn(fill: (directory: string, data: string) => Promise<void>): Promise<Postgres> {
  const directory = await mkdtemp(join(inject('runDirectory'), 'pg-'));
  const owner = account();
  if (owner) await chown(directory, owner.uid, owner.gid);
  const [data, socket] = [join(directory, 'data'), join(directory, 's')];
  await mkdir(socket);
  if (owner) await chown(socket, owner.uid, owner.gid);
  await fill(directory, data);
  const options = `-c listen_addresses= -c unix_socket_directories=${socket} -c fsync=off`;
  runPostgres('pg_ctl', 'start', '-w', '-D', data, '-l', join(directory, 'log'), '-o', options);
  afterFile(async () => {
    runPostgres('pg_ctl', 'stop', '-m', 'immediate', '-D', data);
    await rm(directory, { recursive: true, force: true });
  });
  return {
    directory,
    url: (database) => `postgres://posthorn@/${database}?host=${encodeURIComponent(socket)}`,
  };
}
