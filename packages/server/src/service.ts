import { openEmbedded } from '@posthorn/embedded';
import type { Logger } from 'pino';
import { collectDefaultMetrics } from 'prom-client';
import { AuditWatch, auditWatchMs } from './audit/chain-store.js';
import { readCatalogueFile } from './catalogue/catalogue-file.js';
import { LiveCatalogue } from './catalogue/live-catalogue.js';
import { writeCell } from './cells/relocation-store.js';
import { consoleLinks, loadPortalLogo } from './console/console.js';
import { openDelivery } from './delivering.js';
import type { EventReads } from './events/event-store.js';
import { Listeners, type ListenerUrls } from './listeners.js';
import { watchAudit, watchReplica, watchStore } from './operations/gauges.js';
import { Metrics } from './operations/metrics.js';
import { openTracing } from './operations/tracing.js';
import { Database, type DatabaseTarget } from './postgres/database.js';
import { Reachability } from './postgres/reachability.js';
import { ReadReplica } from './postgres/read-replica.js';
import { migrateWhenReachable } from './postgres/startup.js';
import { type Membership, requestConnections } from './processes/membership.js';
import { recordedPayloads } from './resources/resource-operations.js';
import { maintain, maintenanceMs } from './retention/maintenance.js';
import { type Config, ConfigError } from './settings/config.js';
import { openSecretBox } from './settings/keys.js';
import { Notifier } from './signals/notifier.js';
import { Repeating } from './signals/timers.js';
import { countEvents, countingMs } from './stats/count-store.js';
import { createAddressPolicy } from './values/address.js';
import { warmUp, warmUpConnections } from './warm-up.js';
import { rotateSecrets } from './webhooks/secret-store.js';

export interface Service extends ListenerUrls {
  /** Returns the link to the console, which signs in with this token if one is given. */
  consoleLink: ((token?: string) => string) | undefined;
  database: Database;
  metrics: Metrics;
  /**
   * Resolves with the reason if the service must not use its database, which was unreachable when it started. The
   * caller then has to end the process.
   */
  refused: Promise<Error>;
  /**
   * Stops accepting connections, and lets the clients of open ones move to another process. Resolves when they have, or
   * after two seconds. Called before `stop` when another process has taken over.
   */
  withdraw: () => Promise<void>;
  /** Drains and stops everything, in the reverse order of the start. Safe to call twice. */
  stop: () => Promise<void>;
}

type Closers = (() => Promise<void>)[];

/** Starts everything that runs in a node, in order, and stops it in reverse order. */
export async function startService(
  config: Config,
  logger: Logger,
  now: () => number = Date.now,
  env: Record<string, string | undefined> = {},
  member?: Membership,
): Promise<Service> {
  requireSecretKey(config);
  const catalogueFile = await readCatalogueFile(config.catalogueFile, recordedPayloads);
  const logo = await loadPortalLogo(config.portalLogoFile);
  // The image and the systemd unit set this. Elsewhere, a quick start matters more.
  const isProduction = env.NODE_ENV === 'production';
  if (isProduction) await warmUp(config, logger);
  const closers: Closers = [];
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= (async () => {
      for (const close of closers.reverse()) await close();
    })();
    return stopped;
  };

  try {
    const reachability = new Reachability(logger);
    const tracer = await openTracing(env, logger);
    if (tracer) closers.push(() => tracer.stop());
    const { database, target } = await openDatabase(config, member, reachability, closers);
    const startup = await migrateWhenReachable(database, logger, () => refusePooler(config, database));
    closers.push(() => startup.stop());
    const { cell } = config;
    if (cell !== undefined) {
      const { prefixes: keys } = await openSecretBox(config);
      await startup.whenReady(async () => {
        const { name, before } = await writeCell(database, { name: cell, keys });
        if (name !== cell) throw otherCell(cell, name);
        if (before !== undefined && before !== cell)
          logger.warn({ before, cell }, 'this cell has a new name');
      });
    }
    const catalogue = new LiveCatalogue(database, catalogueFile, logger);
    closers.push(() => catalogue.stop());
    await startup.whenReady(() => catalogue.start());
    const metrics = new Metrics(member);
    collectDefaultMetrics({ register: metrics.registry });
    watchStore(metrics, database);
    const eventReads = openEventReads(config, database, { logger, metrics }, member, closers);
    const recorded = new Notifier();
    const stopping = new AbortController();
    const policy = createAddressPolicy(config.egressAllow);

    if (config.roles.has('maintenance')) {
      const audit = new AuditWatch(database, logger);
      watchAudit(metrics, audit);
      const { eventRetentionMs: retentionMs } = config;
      const runMaintenance = () => maintain({ database, logger, retentionMs, stopping: stopping.signal });
      await startup.whenReady(async () => {
        await runMaintenance();
        const jobs = [
          new Repeating(maintenanceMs, runMaintenance, logger),
          new Repeating(countingMs, () => countEvents(database), logger),
          new Repeating(auditWatchMs, () => audit.verifyNext(), logger),
        ];
        closers.push(async () => {
          stopping.abort();
          await Promise.all(jobs.map((job) => job.stop()));
        });
      });
    }

    const parts = { config, database, tracer, policy, logger, metrics, recorded, now };
    const delivery = await openDelivery({
      ...parts,
      target,
      reachability,
      alone: config.databaseUrl === undefined && member === undefined,
    });
    closers.push(() => delivery.stop());
    if (config.roles.has('delivery')) await startup.whenReady(() => delivery.start());
    // The last of these nodes to get a new first key re-encrypts what the others have encrypted with the old one.
    if (config.roles.has('api') || config.roles.has('delivery'))
      await startup.whenReady(() => rotateSecrets(database, delivery.secrets, logger));

    if (isProduction) await startup.whenReady(() => warmUpConnections(database));
    const listeners = new Listeners({
      ...parts,
      catalogue,
      logo,
      delivery,
      isReady: startup.isReady,
      hasStarted: startup.hasStarted,
      stopping: stopping.signal,
      eventReads,
    });
    closers.push(() => listeners.close());
    const urls = await listeners.open();
    closers.push(async () => {
      delivery.pause();
      stopping.abort();
    });
    const consoleLink = urls.publicUrl === undefined ? undefined : consoleLinks(config, urls.publicUrl);
    const withdraw = async () => {
      stopping.abort();
      await listeners.withdraw();
    };
    return { ...urls, consoleLink, database, metrics, refused: startup.refused, withdraw, stop };
  } catch (error) {
    await stop();
    throw error;
  }
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
  member: Membership | undefined,
  reachability: Reachability,
  closers: Closers,
): Promise<{ database: Database; target: DatabaseTarget }> {
  let target: DatabaseTarget;
  if (config.databaseUrl !== undefined) target = { connectionString: config.databaseUrl };
  else if (member?.target) target = member.target;
  else {
    const embedded = await openEmbedded(config.dataDir, 'serve');
    closers.push(() => embedded.close());
    target = embedded.connection;
  }
  const database = new Database(target, requestConnections(member?.processes ?? 1), reachability);
  closers.push(() => database.close());
  return { database, target };
}

/** Refuses a name other than the cell's: this node's tokens would be routed to another cell. */
function otherCell(given: string, stored: string): ConfigError {
  return new ConfigError(
    `POSTHORN_CELL: "${given}" is not the name of this cell. Nodes of the cell "${stored}" are using this database. ` +
      `Correct the name, or use the database of the cell "${given}". To rename a cell, stop its nodes first.`,
  );
}

/** Refuses a pooler that runs each transaction on any of its connections, because LISTEN does not work through it. */
function refusePooler({ directDatabaseUrl, roles }: Config, database: Database): void {
  if (!database.route.hasPooler || directDatabaseUrl !== undefined || !roles.has('delivery')) return;
  throw new ConfigError(
    'POSTHORN_DIRECT_DATABASE_URL: not set, but DATABASE_URL points to a connection pooler, which does ' +
      'not forward notifications. Set it to the URL of PostgreSQL itself, or to the same URL if the pooler uses session pooling.',
  );
}

/** Returns how events are read: from the database, or from a replica if there is one and it is up to date. */
function openEventReads(
  { readDatabaseUrl: connectionString }: Config,
  primary: Database,
  { logger, metrics }: { logger: Logger; metrics: Metrics },
  member: Membership | undefined,
  closers: Closers,
): EventReads {
  if (connectionString === undefined) return (work) => work(primary);
  const reader = new ReadReplica({
    primary,
    logger,
    onRead: metrics.countEventReads(),
    replica: new Database({ connectionString }, requestConnections(member?.processes ?? 1)),
  });
  closers.push(() => reader.stop());
  watchReplica(metrics, reader);
  return (work) => reader.read(work);
}
