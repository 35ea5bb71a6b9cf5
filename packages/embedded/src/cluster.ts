import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, lstat, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Account,
  clusterHome,
  EmbeddedUnavailable,
  rememberedHome,
  unprivilegedAccount,
} from './account.js';
import { type Binaries, findBinaries } from './binaries.js';
import { findPostmaster, isAlive, type Postmaster } from './postmaster.js';

/** The files of a cluster and how to connect to its server. */
export interface Cluster {
  pgdata: string;
  logFile: string;
  account: Account | undefined;
  /**
   * Set only on Windows, where Node.js cannot use Unix sockets: PostgreSQL listens on loopback with a random password.
   */
  password: string | undefined;
}

export interface Connection {
  host: string;
  port: number;
  user: string;
  password: string | undefined;
  /** Explicit, so that PGSSLMODE in the caller's shell does not ask for TLS on a Unix socket. */
  ssl: false;
}

const superuser = 'posthorn';
const startDeadlineMs = 60_000;
const logBytesMax = 4 * 1024 * 1024;
/** The path of a Unix socket may be up to 107 bytes long on Linux and 103 on macOS, including `.s.PGSQL.5432`. */
const socketDirectoryLengthMax = 85;

/** Prepares the cluster of a data directory, and creates it the first time. */
export async function openCluster(dataDir: string, overTcp = process.platform === 'win32'): Promise<Cluster> {
  const base = resolve(dataDir);
  await mkdir(base, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 }).catch((error) => {
    throw new EmbeddedUnavailable(
      `The directory of the embedded database cannot be created: ${error.message}. ` +
        'Set POSTHORN_DATA_DIR to a writable directory, or use your own PostgreSQL: set DATABASE_URL.',
    );
  });
  const home = await clusterHome(base);
  const pgdata = join(home, 'postgres');
  const account = await unprivilegedAccount(pgdata);
  const password = overTcp ? await readOrCreatePassword(base) : undefined;
  const cluster = { pgdata, logFile: join(base, 'postgres.log'), account, password };
  if (!(await hasCluster(pgdata))) await initialize(cluster);
  return cluster;
}

/** Returns whether a data directory has a database. Creates nothing. */
export async function hasDatabase(dataDir: string): Promise<boolean> {
  const base = resolve(dataDir);
  return hasCluster(join((await rememberedHome(base)) || base, 'postgres'));
}

async function hasCluster(pgdata: string): Promise<boolean> {
  const found = await readFile(join(pgdata, 'PG_VERSION'), 'utf8').catch((error) => {
    if (error.code !== 'EACCES') return undefined;
    throw new EmbeddedUnavailable(`${error.message}. Run the command as the user that runs the service.`);
  });
  if (found === undefined) return false;
  if (found.trim() !== '18') {
    throw new EmbeddedUnavailable(
      `The database in ${pgdata} was written by PostgreSQL ${found.trim()}; the embedded version is 18. ` +
        'Dump it with that version and restore it, or set POSTHORN_DATA_DIR to another directory.',
    );
  }
  return true;
}

/** Creates the cluster next to its final path and renames it, so that a crash leaves no partial cluster. */
async function initialize(cluster: Cluster): Promise<void> {
  const { initdb } = await findBinaries(cluster.account);
  const draft = `${cluster.pgdata}.draft-${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  if (cluster.account) await chown(draft, cluster.account.uid, cluster.account.gid);
  const passwordFile = `${draft}.password`;
  const auth = cluster.password
    ? ['--auth=scram-sha-256', `--pwfile=${passwordFile}`]
    : ['--auth-local=trust', '--auth-host=reject'];
  try {
    if (cluster.password) await writeFile(passwordFile, cluster.password, { mode: 0o600 });
    if (cluster.password && cluster.account) {
      await chown(passwordFile, cluster.account.uid, cluster.account.gid);
    }
    const made = spawnSync(
      initdb,
      ['-D', draft, '-U', superuser, '--encoding=UTF8', '--locale=C', '--no-instructions', ...auth],
      { ...cluster.account, cwd: '/', encoding: 'utf8', env: cleanEnvironment() },
    );
    if (made.status !== 0) {
      throw new EmbeddedUnavailable(
        `The embedded database could not be created in ${cluster.pgdata}: ${(made.error?.message ?? made.stderr).trim()}`,
      );
    }
    await rename(draft, cluster.pgdata).catch(async (error: NodeJS.ErrnoException) => {
      if (!(await hasCluster(cluster.pgdata))) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
    await rm(passwordFile, { force: true });
  }
}

/**
 * Makes sure that the cluster's server is running and accepts connections. Takes over a server that a dead process
 * left behind, and waits for one that is starting or stopping.
 */
export async function startServer(cluster: Cluster): Promise<Postmaster> {
  const deadline = Date.now() + startDeadlineMs;
  let binaries: Binaries | undefined;
  for (;;) {
    const running = await findPostmaster(cluster.pgdata);
    if (running?.ready) return running;
    if (Date.now() > deadline) {
      throw new EmbeddedUnavailable(
        `The embedded database did not start within ${startDeadlineMs / 1000} s; see ${cluster.logFile}.`,
      );
    }
    if (!running) {
      binaries ??= await findBinaries(cluster.account);
      const exit = await launch(cluster, binaries);
      if (exit && !passing.test(exit))
        throw new EmbeddedUnavailable(`The embedded database did not start: ${exit} See ${cluster.logFile}.`);
    }
    await delay(20);
  }
}

/** Another process won the race to start, or backends of a killed server are still exiting. */
const passing = /lock file .* (already exists|is empty)|pre-existing shared memory block/;

/** Starts the server. Resolves when it is ready, or with the end of its log if it exited. */
async function launch(cluster: Cluster, binaries: Binaries): Promise<string | undefined> {
  await rotateLog(cluster.logFile);
  const log = await open(cluster.logFile, 'a', 0o600);
  const start = (await log.stat()).size;
  try {
    const server = spawn(binaries.postgres, await serverArguments(cluster), {
      ...cluster.account,
      cwd: '/',
      env: cleanEnvironment(),
      stdio: ['ignore', log.fd, log.fd],
      // A separate process group: Ctrl-C in the terminal must reach only us, so that we can drain first.
      detached: true,
    });
    server.unref();
    let ended: string | undefined;
    server.once('exit', () => {
      ended ??= 'It exited without a message.';
    });
    server.once('error', (error) => {
      ended ??= error.message;
    });
    while (ended === undefined) {
      const running = await findPostmaster(cluster.pgdata);
      if (running?.ready && running.pid === server.pid) return undefined;
      await delay(10);
    }
    const text = await readFile(cluster.logFile, 'utf8');
    return text.slice(start).trim().split('\n').slice(-3).join(' ') || ended;
  } finally {
    await log.close();
  }
}

async function serverArguments(cluster: Cluster): Promise<string[]> {
  const options: Record<string, string> = {
    // Enough for eight processes, and for commands that run alongside them.
    max_connections: '120',
    // With ten years of retention, a statement over all partitions takes about 4,200 locks. With the default of 64, the
    // lock table would have room for only one or two of these statements at a time.
    max_locks_per_transaction: '512',
    shared_buffers: '128MB',
    max_wal_size: '1GB',
    wal_level: 'minimal',
    max_wal_senders: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    jit: 'off',
  };
  if (cluster.password) {
    const port = String(await steadyPort(cluster));
    Object.assign(options, { listen_addresses: '127.0.0.1', port, unix_socket_directories: '' });
  } else {
    Object.assign(options, {
      listen_addresses: '',
      unix_socket_directories: await socketDirectory(cluster),
      unix_socket_permissions: '0700',
    });
  }
  return [
    '-D',
    cluster.pgdata,
    ...Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

async function socketDirectory(cluster: Cluster): Promise<string> {
  const beside = join(cluster.pgdata, '..', 'socket');
  const name = createHash('sha256').update(cluster.pgdata).digest('hex').slice(0, 16);
  const fits = Buffer.byteLength(beside) <= socketDirectoryLengthMax;
  const directory = fits ? beside : join(tmpdir(), `posthorn-${name}`);
  await mkdir(directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  // In the shared temporary directory, another user may have created this path first, for example as a link.
  const { uid } = await lstat(directory);
  const owners = [process.getuid?.(), cluster.account?.uid];
  if (!owners.includes(uid)) {
    throw new EmbeddedUnavailable(
      `The directory ${directory} belongs to another user. Remove it, or use a shorter POSTHORN_DATA_DIR.`,
    );
  }
  await chmod(directory, 0o700);
  if (cluster.account) await chown(directory, cluster.account.uid, cluster.account.gid);
  return directory;
}

/** Shuts the server down in fast mode, which rolls back open transactions and writes the rest to disk. */
export async function stopServer(cluster: Cluster): Promise<void> {
  const running = await findPostmaster(cluster.pgdata);
  if (!running) return;
  if (process.platform === 'win32') {
    const { pgCtl } = await findBinaries(cluster.account);
    spawnSync(pgCtl, ['stop', '-D', cluster.pgdata, '-m', 'fast', '-w']);
    return;
  }
  process.kill(running.pid, 'SIGINT');
  while (isAlive(running.pid) && (await findPostmaster(cluster.pgdata))) await delay(10);
}

export function connectionTo(cluster: Cluster, server: Postmaster): Connection {
  const host = cluster.password ? '127.0.0.1' : server.socketDirectory;
  return { host, port: server.port, user: superuser, password: cluster.password, ssl: false };
}

async function readOrCreatePassword(base: string): Promise<string> {
  const file = join(base, 'postgres-password');
  const fresh = randomBytes(24).toString('base64url');
  await writeFile(file, fresh, { mode: 0o600, flag: 'wx' }).catch(() => undefined);
  return (await readFile(file, 'utf8')).trim();
}

/** Returns the port of the last start if it is free, so that clients find the server again after a restart. */
async function steadyPort(cluster: Cluster): Promise<number> {
  const file = join(cluster.pgdata, '..', 'postgres-port');
  const last = Number(await readFile(file, 'utf8').catch(() => '0'));
  const port = (await tryPort(last)) ?? (await tryPort(0)) ?? 5432;
  await writeFile(file, String(port));
  return port;
}

async function tryPort(wanted: number): Promise<number | undefined> {
  const probe = createServer().listen(wanted, '127.0.0.1');
  try {
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    await once(probe.close(), 'close');
    return port;
  } catch {
    return undefined;
  }
}

/** Removes PG* and locale variables, which must not influence our server. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name)));
}

/** Rotates a long log and keeps one old file. */
async function rotateLog(path: string): Promise<void> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > logBytesMax) await rename(path, `${path}.1`);
}
