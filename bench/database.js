import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { connectionTo, openCluster, startServer, stopServer } from '../packages/embedded/dist/cluster.js';
import { cpuMsOfFamily, parentOf } from './cpu.js';

/** Creates a database for a service: on the server that `DATABASE_URL` names, or else on an embedded one of its own. */
export async function startDatabase() {
  const server = process.env.DATABASE_URL ? { url: process.env.DATABASE_URL } : await startEmbedded();
  const name = `posthorn_bench_${randomBytes(6).toString('hex')}`;
  const administrator = await connect(server.url);
  await administrator.query(`create database ${name}`);
  const url = server.url.replace(/^(\w+:\/\/[^/]*\/)[^?]*/, `$1${name}`);
  const client = await connect(url);
  const { rows } = await client.query('select pg_backend_pid() as pid');
  const postmaster = await parentOf(rows[0].pid);
  return {
    url,
    client,
    /** The server must be on this machine. */
    cpuMs: () => cpuMsOfFamily(postmaster),
    async stop() {
      await client.end();
      await administrator.query(`drop database ${name} with (force)`);
      await administrator.end();
      await server.stop?.();
    },
  };
}

async function connect(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}

/** Starts a PostgreSQL with the programs and settings of the embedded one. */
async function startEmbedded() {
  const place = await mkdtemp(join(tmpdir(), 'posthorn-bench-'));
  // If we are root, PostgreSQL runs as another user, which must be able to enter the directory.
  await chmod(place, 0o711);
  const cluster = await openCluster(place);
  const server = await startServer(cluster);
  // Stops the database even if a benchmark fails.
  const end = () => process.kill(server.pid, 'SIGINT');
  process.once('exit', end);
  const { host, user } = connectionTo(cluster, server);
  return {
    url: `postgres://${user}@/postgres?host=${encodeURIComponent(host)}`,
    async stop() {
      process.off('exit', end);
      await stopServer(cluster);
      await rm(place, { recursive: true, force: true });
    },
  };
}
