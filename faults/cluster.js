import { spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { unprivilegedAccount } from '../packages/embedded/dist/account.js';
import { findBinaries } from '../packages/embedded/dist/binaries.js';
import { ended, killFamily, signalFamily, start } from './processes.js';
import { until } from './waiting.js';

const superuser = 'posthorn';
const startMs = 30_000;

/**
 * A real PostgreSQL in a directory of its own, reached through a Unix socket. It syncs every commit to the disk. It can
 * be killed, paused, restarted and copied.
 */
export class Cluster {
  #account;
  #binaries;
  #child;
  /** Further environment variables of the server. */
  env = {};

  constructor(place, account, binaries) {
    this.place = place;
    this.#account = account;
    this.#binaries = binaries;
  }

  static async at(place) {
    const account = await unprivilegedAccount(place);
    mkdirSync(place, { recursive: true });
    if (account) chownSync(place, account.uid, account.gid);
    chmodSync(place, 0o711);
    return new Cluster(place, account, await findBinaries(account));
  }

  get #data() {
    return join(this.place, 'data');
  }

  /** The directory of the socket. */
  get host() {
    return this.place;
  }

  /** How a program on this machine reaches the database without a proxy. */
  get url() {
    return `postgres://${superuser}@/posthorn?host=${encodeURIComponent(this.host)}`;
  }

  /** What a proxy connects to. */
  get socket() {
    return join(this.host, '.s.PGSQL.5432');
  }

  get logFile() {
    return join(this.place, 'postgres.log');
  }

  /** Creates an empty database. `walMb` is the size of a segment of the write-ahead log. */
  create(walMb) {
    this.#run(this.#binaries.initdb, [
      ...['-D', this.#data, '-U', superuser, '--encoding=UTF8', '--locale=C', '--auth=trust'],
      ...['--no-sync', '--no-instructions', `--wal-segsize=${walMb}`],
    ]);
    this.set(this.#settings);
  }

  /** Becomes a copy of another database that is not running. */
  copy(original) {
    this.#run('cp', ['-a', original.#data, this.#data]);
    this.set({ unix_socket_directories: this.host });
  }

  /** Becomes a copy of a database that another program has created and stopped. */
  adopt(directory) {
    this.#run('cp', ['-a', directory, this.#data]);
    this.set(this.#settings);
  }

  get #settings() {
    return {
      ...{ listen_addresses: '', unix_socket_directories: this.host, max_connections: 60 },
      ...{ max_locks_per_transaction: 512, shared_buffers: '64MB', fsync: 'on', jit: 'off', timezone: 'UTC' },
    };
  }

  set(settings) {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    appendFileSync(join(this.#data, 'postgresql.conf'), lines.join(''));
  }

  /** Makes this copy follow a primary when it starts. */
  follow(primary) {
    writeFileSync(join(this.#data, 'standby.signal'), '');
    this.set({ primary_conninfo: `host=${primary.host} user=${superuser} application_name=standby` });
  }

  /** Starts a standby of this running server in a directory of its own. It receives the log asynchronously. */
  async standby(place) {
    const standby = await Cluster.at(place);
    await this.stop();
    standby.copy(this);
    standby.follow(this);
    await this.start();
    await standby.start();
    await this.replicated(standby);
    return standby;
  }

  /** Waits until a standby has replayed everything that has been written so far. */
  async replicated(standby) {
    const [{ lsn }] = await this.query('select pg_current_wal_lsn()::text as lsn');
    const isReplayed = async () =>
      (await standby.query('select pg_last_wal_replay_lsn() >= $1::pg_lsn as replayed', [lsn]))[0].replayed;
    await until('the replication', isReplayed, startMs);
  }

  #run(file, args) {
    const { status, stderr, error } = spawnSync(file, args, { ...this.#account, cwd: '/', encoding: 'utf8' });
    if (status !== 0) throw new Error(`${file} failed: ${error?.message ?? stderr}`);
  }

  async start() {
    // A crash can leave `ready` in the file of the server before this one.
    this.#child = start(this.#binaries.postgres, ['-D', this.#data], {
      ...{ ...this.#account, cwd: '/', env: this.env, logFile: this.logFile },
    });
    const child = this.#child;
    const isReady = () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`PostgreSQL did not start; see ${this.logFile}: ${this.#lastLines()}`);
      const lines = this.#pidFile();
      return Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready';
    };
    await until('the start of PostgreSQL', isReady, startMs, 20);
  }

  #pidFile() {
    try {
      return readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n');
    } catch {
      return [];
    }
  }

  #lastLines() {
    return readFileSync(this.logFile, 'utf8').trim().split('\n').slice(-5).join(' | ');
  }

  get isRunning() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Ends the server and every process of it with SIGKILL. */
  async kill() {
    if (this.#child) await killFamily(this.#child);
  }

  /** Stops the server without waiting for clients, as operators do. */
  async stop() {
    if (!this.isRunning) return;
    this.#child.kill('SIGINT');
    await ended(this.#child, 20_000);
  }

  pause() {
    signalFamily(this.#child.pid, 'SIGSTOP');
  }

  resume() {
    signalFamily(this.#child.pid, 'SIGCONT');
  }

  /** Runs one statement on a connection of its own, past every proxy. */
  async query(text, values) {
    const client = await this.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Opens a connection past every proxy. */
  async connect(database = superuser) {
    const client = new pg.Client({ host: this.host, user: superuser, database });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Makes a standby the primary. */
  async promote() {
    await this.query('select pg_promote()');
    await until('the promotion', async () => !(await this.#isStandby()), 15_000);
  }

  async #isStandby() {
    const [{ standby }] = await this.query('select pg_is_in_recovery() as standby');
    return standby;
  }
}
