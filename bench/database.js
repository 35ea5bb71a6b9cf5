import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { connectionTo, openCluster, startServer, stopServer } from '../packages/embedded/dist/cluster.js';
import { cpuMsOfFamily } from './cpu.js';

const name = 'posthorn';

/** Starts a PostgreSQL with the programs and settings of the embedded one, for services that do not start their own. */
export async function startDatabase() {
  const place = await mkdtemp(join(tmpdir(), 'posthorn-bench-'));
  // If we are root, PostgreSQL runs as another user, which must be able to enter the directory.
  await chmod(place, 0o711);
  const cluster = await openCluster(place);
  const server = await startServer(cluster);
  // Stops the database even if a benchmark fails.
  const end = () => process.kill(server.pid, 'SIGINT');
  process.once('exit', end);
  const { host, user } = connectionTo(cluster, server);
  const first = new pg.Client({ host, user, database: 'postgres' });
  await first.connect();
  await first.query(`create database ${name}`);
  await first.end();
  const client = new pg.Client({ host, user, database: name });
  await client.connect();
  return {
    connection: { host, user, database: name },
    url: `postgres://${user}@/${name}?host=${encodeURIComponent(host)}`,
    client,
    cpuMs: () => cpuMsOfFamily(server.pid),
    async stop() {
      process.off('exit', end);
      await client.end();
      await stopServer(cluster);
      await rm(place, { recursive: true, force: true });
    },
  };
}
