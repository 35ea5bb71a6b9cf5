import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { EmbeddedUnavailable } from './account.js';
import * as clusters from './cluster.js';

export interface EmbeddedDatabase {
  connection: clusters.Connection & { database: string };
  /** Closes the connection, and stops the server if no other process uses it. */
  close: () => Promise<void>;
}

const databaseName = 'posthorn';
/**
 * Every process that uses the server holds a shared lock on `presence`. A process that releases it and then gets the
 * lock exclusively was the last one, and stops the server. The serving process also holds `serving`. PostgreSQL
 * releases the locks of a killed process with its connection, so nothing has to be cleaned up.
 */
const presence = 7_401_001;
const serving = 7_401_002;
const servingWaitMs = 1_500;
const startAgainMs = 1_000;

export async function openEmbedded(
  dataDir: string,
  purpose: 'serve' | 'command',
  overTcp?: boolean,
): Promise<EmbeddedDatabase> {
  const cluster = await clusters.openCluster(dataDir, overTcp);
  let session = await enter(cluster);
  if (purpose === 'serve' && !(await takeServing(session.client))) {
    await leave(cluster, session);
    throw new EmbeddedUnavailable(
      `Another posthorn serve or demo is using the data directory ${dataDir}. Stop it first. To run both, ` +
        'set POSTHORN_DATA_DIR to another directory, and POSTHORN_PORT and POSTHORN_PLATFORM_PORT to free ports (0 selects any free port).',
    );
  }

  let closing = false;
  let watch: Promise<void> | undefined;
  const keepRunning = async () => {
    while (!closing) {
      await session.lost;
      while (!closing) {
        try {
          // The server was killed. Its next start recovers everything that was committed.
          session = await enter(cluster);
          await takeServing(session.client);
          break;
        } catch {
          // The disk may be full, for example. Until the server starts, every request gets a 503.
          await delay(startAgainMs);
        }
      }
    }
    await leave(cluster, session);
  };
  if (purpose === 'serve') watch = keepRunning();

  return {
    connection: { ...session.connection, database: databaseName },
    close: async () => {
      if (closing) return;
      closing = true;
      await leave(cluster, session);
      await watch;
    },
  };
}

interface Session {
  client: pg.Client;
  connection: clusters.Connection;
  /** Resolves when the connection has ended for any reason. */
  lost: Promise<void>;
}

/** Starts the server if necessary and connects. Retries if the server is shutting down. */
async function enter(cluster: clusters.Cluster): Promise<Session> {
  for (let attempt = 1; ; attempt++) {
    const server = await clusters.startServer(cluster);
    const connection = clusters.connectionTo(cluster, server);
    const client = new pg.Client({
      ...connection,
      database: 'postgres',
      application_name: 'posthorn session',
    });
    client.on('error', () => undefined);
    const lost = new Promise<void>((gone) => client.once('end', () => gone()));
    try {
      await client.connect();
      await client.query('select pg_advisory_lock_shared($1)', [presence]);
      await createDatabase(client);
      return { client, connection, lost };
    } catch (error) {
      await client.end().catch(() => undefined);
      if (attempt >= 50 || !isShuttingDown(error)) throw error;
      await delay(100);
    }
  }
}

async function createDatabase(client: pg.Client): Promise<void> {
  const found = await client.query('select from pg_database where datname = $1', [databaseName]);
  if (found.rowCount) return;
  await client.query(`create database ${databaseName}`).catch((error: { code?: string }) => {
    const madeMeanwhile = error.code === '42P04' || error.code === '23505';
    if (!madeMeanwhile) throw error;
  });
}

/**
 * Takes the lock of the serving process. Waits a moment, because PostgreSQL frees the lock of a killed process only
 * when it notices the closed connection.
 */
async function takeServing(client: pg.Client): Promise<boolean> {
  const deadline = Date.now() + servingWaitMs;
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [serving]);
    if (rows[0].taken) return true;
    if (Date.now() > deadline) return false;
    await delay(100);
  }
}

async function leave(cluster: clusters.Cluster, session: Session): Promise<void> {
  const alone = await session.client
    .query('select pg_advisory_unlock_shared($1), pg_try_advisory_lock($1) as alone', [presence])
    .then(({ rows }) => rows[0].alone === true)
    .catch(() => false);
  if (alone) await clusters.stopServer(cluster);
  await session.client.end().catch(() => undefined);
}

function isShuttingDown(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? '';
  return (
    ['57P01', '57P03', 'ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE'].includes(code) ||
    // The second is the driver's message if the server closed the connection just before a statement.
    /terminated|not queryable/.test(String(error))
  );
}
