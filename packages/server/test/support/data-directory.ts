import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { stopServer } from '../../../embedded/src/cluster.js';
import { afterFile } from './cleanup.js';
import { copyDirectory } from './postgres.js';

/**
 * A data directory of the test file's own, below a new temporary directory. What still runs there after
 * the file is stopped, and all of it removed.
 */
export function dataDirectory(...below: string[]): Promise<string> {
  return directoryIn(tmpdir(), below);
}

async function directoryIn(parent: string, below: readonly string[]): Promise<string> {
  const place = await mkdtemp(join(parent, 'posthorn-data-'));
  // Reachable for the account that PostgreSQL runs as where we are root.
  await chmod(place, 0o711);
  const directory = join(place, ...below);
  afterFile(async () => {
    await removeDirectory(directory);
    await rm(place, { recursive: true, force: true });
  });
  return directory;
}

/**
 * A data directory with the files that another one has now, at this path below a new directory. It has 1,500 files, so
 * it is where the run keeps its own.
 */
export async function copyOf(original: string, ...below: string[]): Promise<string> {
  const directory = await directoryIn(inject('runDirectory'), below.length > 0 ? below : ['data']);
  await mkdir(dirname(directory), { recursive: true });
  copyDirectory(original, directory);
  return directory;
}

/** A data directory whose database is migrated and has nothing else in it. */
export function preparedDirectory(): Promise<string> {
  return copyOf(inject('preparedDirectory'));
}

/** A prepared data directory whose server syncs every commit to the disk, as the product's does. */
export async function durableDirectory(): Promise<string> {
  const directory = await preparedDirectory();
  const settings = join(await pgdataOf(directory), 'postgresql.auto.conf');
  const lines = (await readFile(settings, 'utf8')).split('\n');
  await writeFile(settings, lines.filter((line) => !line.startsWith('fsync')).join('\n'));
  return directory;
}

/** Where the embedded database's files are. */
export async function pgdataOf(directory: string): Promise<string> {
  const elsewhere = await readFile(join(directory, 'database-directory'), 'utf8').catch(() => undefined);
  return join(elsewhere?.trim() ?? directory, 'postgres');
}

/** The process id in `postmaster.pid`, or undefined where there is no such file. */
export async function serverPid(directory: string): Promise<number | undefined> {
  const text = await readFile(join(await pgdataOf(directory), 'postmaster.pid'), 'utf8').catch(
    () => undefined,
  );
  return text === undefined ? undefined : Number(text.split('\n', 1)[0]);
}

/** Ends the server at once, as the kernel does when memory runs out. Returns its process id. */
export async function killServer(directory: string): Promise<number> {
  const pid = await serverPid(directory);
  if (pid === undefined) throw new Error(`no server runs in ${directory}`);
  process.kill(pid, 'SIGKILL');
  return pid;
}

async function removeDirectory(directory: string): Promise<void> {
  const pgdata = await pgdataOf(directory);
  await stopServer({ pgdata, logFile: '', account: undefined, password: undefined });
  if (!pgdata.startsWith(directory)) await rm(dirname(pgdata), { recursive: true, force: true });
}
