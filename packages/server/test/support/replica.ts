import { spawn } from 'node:child_process';
import { open, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { findBinaries } from '../../../embedded/src/binaries.js';
import { type Cluster, openCluster, stopServer } from '../../../embedded/src/cluster.js';
import { findPostmaster } from '../../../embedded/src/postmaster.js';
import { preparedDirectory } from './data-directory.js';
import { copyDirectory } from './postgres.js';

const settings = {
  listen_addresses: '',
  max_connections: '40',
  max_locks_per_transaction: '256',
  wal_level: 'replica',
  max_wal_senders: '2',
  fsync: 'off',
  timezone: 'UTC',
  jit: 'off',
};

const urlOf = (pgdata: string) => `postgres://posthorn@/posthorn?host=${encodeURIComponent(pgdata)}`;

/** A PostgreSQL with a streaming replica, both with our schema and nothing else; stopped after the file. */
export class ReplicatedPostgres {
  #primary: Cluster;
  #replica: Cluster;

  private constructor(primary: Cluster, replica: Cluster) {
    this.#primary = primary;
    this.#replica = replica;
  }

  static async start(): Promise<ReplicatedPostgres> {
    const [directory, copy] = [await preparedDirectory(), await preparedDirectory()];
    const primary = await openCluster(directory);
    // What a replica starts from must have been written with this `wal_level`.
    await run(primary);
    await stopServer(primary);
    const replica = { ...(await openCluster(copy)), account: primary.account };
    copyDirectory(primary.pgdata, join(dirname(replica.pgdata), 'copied'));
    replica.pgdata = join(dirname(replica.pgdata), 'copied');
    await writeFile(join(replica.pgdata, 'standby.signal'), '');
    await run(primary);
    await run(replica, { primary_conninfo: `host=${primary.pgdata} user=posthorn` });
    return new ReplicatedPostgres(primary, replica);
  }

  get url(): string {
    return urlOf(this.#primary.pgdata);
  }

  get replicaUrl(): string {
    return urlOf(this.#replica.pgdata);
  }

  /** The replica receives what the primary writes, but does not apply it. */
  async pause(): Promise<void> {
    await sendRequest(this.replicaUrl, 'select pg_wal_replay_pause()');
    // A pause is requested first. It holds once the replica is between two records.
    while (
      (await sendRequest(this.replicaUrl, 'select pg_get_wal_replay_pause_state() as state')).state !==
      'paused'
    )
      await delay(5);
  }

  async resume(): Promise<void> {
    await sendRequest(this.replicaUrl, 'select pg_wal_replay_resume()');
  }

  /**
   * Makes the replica the primary, after the primary has written something that the replica did not receive. The old
   * primary becomes a replica that does not follow the new one.
   */
  async failOver(): Promise<void> {
    const [next, stray] = [this.#replica, this.#primary];
    await stopServer(next);
    await sendRequest(this.url, 'create table unreceived as select generate_series(1, 10000)');
    await stopServer(stray);
    await writeFile(join(stray.pgdata, 'standby.signal'), '');
    await Promise.all([run(next), run(stray)]);
    await sendRequest(urlOf(next.pgdata), 'select pg_promote()');
    [this.#primary, this.#replica] = [next, stray];
  }

  stopReplica(): Promise<void> {
    return stopServer(this.#replica);
  }

  async stop(): Promise<void> {
    await stopServer(this.#replica);
    await stopServer(this.#primary);
  }
}

/** Runs a statement and returns the first row. */
async function sendRequest(url: string, statement: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(statement);
  await client.end();
  return rows[0];
}

async function run(cluster: Cluster, more: Record<string, string> = {}): Promise<void> {
  const { pgdata, account } = cluster;
  const { postgres } = await findBinaries(account);
  const all = { ...settings, unix_socket_directories: pgdata, ...more };
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
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
}
