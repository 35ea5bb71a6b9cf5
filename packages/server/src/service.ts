import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { loadCatalogue } from './catalogue-file.js';
import { type Config, ConfigError, version } from './config.js';
import { type DeliveryParts, openDelivery } from './delivering.js';
import { createAddressPolicy } from './domain/address.js';
import { createEventChecker } from './domain/new-event.js';
import { createPayloadValidator } from './domain/payload.js';
import { createPublicApi } from './http/app.js';
import { TokenDirectory } from './http/auth.js';
import { consoleBuild, findConsoleFiles } from './http/console-files.js';
import { AuditWatch } from './jobs/audit-watch.js';
import { EventCounting } from './jobs/event-counting.js';
import { Maintenance } from './jobs/maintenance.js';
import { platformToken } from './keys.js';
import { createPlatformApi } from './platform/app.js';
import { Recorder } from './platform/recorder.js';
import { loadPortalLogo } from './portal-logo.js';
import { Notifier } from './signals/notifier.js';
import { Repeating } from './signals/repeating.js';
import { Database, type DatabaseTarget, isUnreachable } from './storage/database.js';
import { openEmbedded } from './storage/embedded/embedded.js';
import { isMigrated, migrate } from './storage/migrate.js';
import { Reachability } from './storage/reachability.js';
import type { RecordedBatch } from './storage/recording.js';
import { nameCell } from './storage/relocations.js';
import { watchStore } from './store-metrics.js';
import { openTracing } from './tracing.js';
import { GuessLimit } from './web/guess-limit.js';
import { Metrics } from './web/metrics.js';
import { createMonitoringListener } from './web/monitoring.js';

export interface Service {
  /** The addresses of the listeners with their actual ports. Undefined if the node does not have the role. */
  publicUrl: string | undefined;
  platformUrl: string | undefined;
  /** The address of health checks and metrics on a node without the role `platform`. */
  monitoringUrl: string | undefined;
  /** Returns the link to the console, which signs in with this token if one is given. */
  consoleLink: ((token?: string) => string) | undefined;
  database: Database;
  /** Drains and stops everything, in the reverse order of the start. Safe to call twice. */
  stop: () => Promise<void>;
}

type Closers = (() => Promise<void>)[];

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'another program is listening on it',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'the name does not exist',
  EAI_AGAIN: 'the name cannot be resolved',
  EACCES: 'this user may not listen on it',
};
const tokenFlushMs = 10_000;
const migrateAgainMs = 1_000;

/** Starts everything that runs in a node, in order, and stops it in reverse order. */
export async function startService(
  config: Config,
  logger: Logger,
  now: () => number = Date.now,
  env: Record<string, string | undefined> = {},
): Promise<Service> {
  requireSecretKey(config);
  const catalogue = await loadCatalogue(config.catalogueFile);
  const logo = await loadPortalLogo(config.portalLogoFile);
  const closers: Closers = [];
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= closeAll(closers);
    return stopped;
  };

  try {
    const reachability = new Reachability(logger);
    const tracer = await openTracing(env, logger);
    if (tracer) closers.push(() => tracer.stop());
    const { database, target } = await openDatabase(config, reachability, closers);
    const readiness = await startMigrating(database, logger, closers);
    const { cell } = config;
    if (cell !== undefined) await readiness.whenReady(() => nameCell(database, cell));
    const metrics = new Metrics();
    watchStore(metrics, database);
    const recorded = new Notifier();
    const stopping = new AbortController();
    const policy = createAddressPolicy(config.egressAllow);

    if (config.roles.has('maintenance')) {
      const audit = new AuditWatch(database, logger);
      watchAudit(metrics, audit);
      for (const job of [
        new Maintenance(database, logger, now, config.eventRetentionMs),
        new EventCounting(database, logger),
        audit,
      ]) {
        await readiness.whenReady(() => job.start());
        closers.push(() => job.stop());
      }
    }

    const delivery = await openDelivery({
      config,
      database,
      target,
      reachability,
      tracer,
      policy,
      logger,
      metrics,
      recorded,
      now,
    });
    closers.push(() => delivery.stop());
    if (config.roles.has('delivery')) await readiness.whenReady(() => delivery.start());

    const guesses = new GuessLimit(config.rateLimitReads > 0, now);
    const { trustedProxies } = config;
    const listeners: FastifyInstance[] = [];
    closers.push(async () => void (await Promise.all(listeners.map((app) => app.close()))));
    let publicUrl: string | undefined;
    if (config.roles.has('api')) {
      const tokens = openTokens(database, logger, now, config.cell, closers);
      const app = await createPublicApi({
        ...{ guesses, trustedProxies },
        ...{ catalogue, database, logger, metrics, now, policy, recorded, tokens, version },
        rateLimits: { reads: config.rateLimitReads, writes: config.rateLimitWrites },
        deliveryRules: { retryScheduleMs: config.retryScheduleMs, timeoutMs: config.deliveryTimeoutMs },
        ...{ retentionMs: config.eventRetentionMs, webhooksMax: config.webhooksMax },
        secrets: delivery.secrets,
        control: delivery.control,
        console: {
          ...{ version, logo, files: findConsoleFiles(consoleBuild()) },
          ...{ name: config.portalName, accent: config.portalAccent, frameOrigins: config.portalOrigins },
          ...{ retentionMs: config.eventRetentionMs, retryScheduleMs: config.retryScheduleMs },
        },
        serverUrl: config.publicOrigin,
        isReady: readiness.isReady,
        stopping: stopping.signal,
      });
      listeners.push(app);
      publicUrl = await listen(app, 'public API', config.host, config.port);
    }

    let platformUrl: string | undefined;
    if (config.roles.has('platform')) {
      const { room } = delivery.control;
      const onRecorded = handOver(delivery, metrics);
      const app = await createPlatformApi({
        ...{ logger, metrics, version, guesses, trustedProxies, tracer },
        recorder: new Recorder(database, room, onRecorded),
        lifecycles: { database, room, onRecorded },
        portal: { database, now, cell: config.cell, consoleLink: consoleLinks(config, publicUrl) },
        token: config.platformToken ?? (await platformToken(config.dataDir)),
        check: createEventChecker(catalogue, createPayloadValidator(catalogue)),
        isReady: readiness.isReady,
      });
      listeners.push(app);
      platformUrl = await listen(app, 'platform listener', config.platformHost, config.platformPort);
    }
    let monitoringUrl: string | undefined;
    if (!config.roles.has('platform')) {
      const app = await createMonitoringListener({
        ...{ logger, metrics, guesses, trustedProxies, isReady: readiness.isReady },
        token: await monitoringToken(config),
      });
      listeners.push(app);
      monitoringUrl = await listenToMonitor(app, config, logger);
    }
    closers.push(async () => {
      delivery.pause();
      stopping.abort();
    });
    const consoleLink = publicUrl === undefined ? undefined : consoleLinks(config, publicUrl);
    return { publicUrl, platformUrl, monitoringUrl, consoleLink, database, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Puts the token in the fragment, which browsers do not send, so it does not appear in server or proxy logs. */
function consoleLinks(config: Config, publicUrl: string | undefined): (token?: string) => string {
  const base = config.publicOrigin ?? publicUrl ?? urlOf(config.host, config.port);
  return (token) => `${base}/console${token === undefined ? '' : `#token=${token}`}`;
}

/** Returns a URL that a browser can open. A listener on all addresses is shown with its loopback address. */
function urlOf(host: string, port: number): string {
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function requireSecretKey(config: Config): void {
  if (config.databaseUrl !== undefined && config.secretKeys === undefined) {
    throw new ConfigError(
      'POSTHORN_SECRET_KEY: not set, but required with DATABASE_URL. Expected 32 bytes in base64. ' +
        'Generate one with: openssl rand -base64 32',
    );
  }
}

async function openDatabase(
  config: Config,
  reachability: Reachability,
  closers: Closers,
): Promise<{ database: Database; target: DatabaseTarget }> {
  let target: DatabaseTarget;
  if (config.databaseUrl !== undefined) target = { connectionString: config.databaseUrl };
  else {
    const embedded = await openEmbedded(config.dataDir, 'serve');
    closers.push(() => embedded.close());
    target = embedded.connection;
  }
  const database = new Database(target, undefined, reachability);
  closers.push(() => database.close());
  return { database, target };
}

function openTokens(
  database: Database,
  logger: Logger,
  now: () => number,
  cell: string | undefined,
  closers: Closers,
): TokenDirectory {
  const tokens = new TokenDirectory(database, now, cell);
  const flushing = new Repeating(tokenFlushMs, () => tokens.flush(), logger);
  closers.push(async () => {
    await flushing.stop();
    await tokens.flush().catch(() => undefined);
  });
  return tokens;
}

function watchAudit(metrics: Metrics, audit: AuditWatch): void {
  metrics.watch(
    'posthorn_audit_chains_broken',
    'Organizations whose audit log was changed, as last verified by this process',
    () => audit.figures.broken,
  );
  metrics.watch(
    'posthorn_audit_chains_verified',
    'Audit logs that this process has verified since it started, one organization per minute',
    () => audit.figures.verified,
  );
}

/** Hands the deliveries of a recording straight to the engine, and counts its events. */
function handOver(delivery: DeliveryParts, metrics: Metrics): (batch: RecordedBatch) => void {
  return (batch) => {
    delivery.control.accept(batch);
    metrics.eventsRecorded.inc(batch.events.length);
  };
}

/**
 * Migrates the database. If the database is unreachable, the service still starts and responds with 503 until the
 * database is back, as orchestrators expect. Any other failure stops the start.
 */
async function startMigrating(database: Database, logger: Logger, closers: Closers) {
  let migrated = false;
  let whenMigrated: (() => Promise<void>)[] = [];
  const attempt = async () => {
    if (migrated) return;
    const applied = await migrate(database);
    if (applied.length > 0) logger.info({ migrations: applied.length }, 'migrations applied');
    migrated = true;
    for (const then of whenMigrated) await then();
    whenMigrated = [];
  };
  try {
    await attempt();
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    const again = new Repeating(migrateAgainMs, attempt, logger);
    closers.push(() => again.stop());
  }
  return {
    isReady: async () => migrated && (await isMigrated(database).catch(() => false)),
    whenReady: async (then: () => Promise<void>) => {
      if (migrated) await then();
      else whenMigrated.push(then);
    },
  };
}

async function listen(app: FastifyInstance, name: string, host: string, port: number): Promise<string> {
  const settings =
    name === 'public API' ? 'POSTHORN_HOST, POSTHORN_PORT' : 'POSTHORN_PLATFORM_HOST, POSTHORN_PLATFORM_PORT';
  try {
    await app.listen({ host, port, listenTextResolver: (address) => `${name} listening on ${address}` });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const reason = listenFaults[code];
    if (reason === undefined) throw error;
    const remedy =
      code === 'EADDRINUSE'
        ? 'stop it, or set POSTHORN_PORT and POSTHORN_PLATFORM_PORT to free ports (0 selects any)'
        : 'use an address of this machine and a free port';
    throw new ConfigError(
      `${settings}: ${JSON.stringify(`${host}:${port}`)} cannot be used: ${reason}; ${remedy}.`,
    );
  }
  const { address, port: real } = app.server.address() as AddressInfo;
  return urlOf(address, real);
}

/**
 * Returns the token that metrics require on a node without the role `platform`. If the node has no token, it generates
 * none: with an external database, a node may have no directory to write to.
 */
async function monitoringToken({
  platformToken: given,
  databaseUrl,
  dataDir,
}: Config): Promise<string | undefined> {
  if (given !== undefined || databaseUrl !== undefined) return given;
  return platformToken(dataDir);
}

/**
 * Listens for health checks and metrics, if the address is free. Several nodes on one machine may have the same
 * settings, and a node can work without being monitored.
 */
async function listenToMonitor(
  app: FastifyInstance,
  config: Config,
  logger: Logger,
): Promise<string | undefined> {
  try {
    return await listen(app, 'monitoring', config.platformHost, config.platformPort);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logger.warn(`this node serves no health checks and no metrics: ${error.message}`);
    return undefined;
  }
}

async function closeAll(closers: Closers): Promise<void> {
  for (const close of closers.reverse()) await close();
}
