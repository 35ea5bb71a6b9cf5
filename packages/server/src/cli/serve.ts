import cluster from 'node:cluster';
import { resolve } from 'node:path';
import { json } from 'posthorn';
import { blocked, migrate } from '../postgres/migrate.js';
import { unknownSettings } from '../settings/config.js';
import { type OperatorCommand, openTarget } from './operator.js';
import { createLogger, stopSignal, useHeapSparingly, welcome } from './service-process.js';

const drainMsMax = 9_900;
/** A start that takes longer waits for the database, or for another node to migrate it. */
const startMsMax = 1_000;

export const serve: OperatorCommand = {
  name: 'serve',
  options: {
    'allow-loopback': {
      description:
        'Allow deliveries to this machine unless POSTHORN_EGRESS_ALLOW is set. For development only.',
    },
    processes: {
      value: 'auto|N',
      choices: ['auto'],
      description:
        'Run several processes that share the ports, under a supervisor. Same as POSTHORN_PROCESSES. SIGHUP ' +
        'restarts them one by one.',
    },
  },
  showsSettings: true,
  run: async (context) => {
    const { config, env, terminal } = context;
    terminal.endsWithItsReader = false;
    if (cluster.isWorker) return (await import('./serve-processes.js')).serveAsProcess(context);
    if (config.processes !== undefined) return (await import('./serve-processes.js')).serveProcesses(context);
    const logger = createLogger(config, terminal);
    for (const warning of unknownSettings(env)) logger.warn(warning);
    // The embedded database has to start before it can be stopped.
    let mayExit = config.databaseUrl !== undefined;
    const stopped = stopSignal(logger, () => {
      // No hanging request keeps the process alive. Unfinished deliveries are attempted after the restart.
      setTimeout(() => process.exit(0), drainMsMax).unref();
      setTimeout(() => {
        if (!mayExit) return;
        logger.info('stopped before startup was complete');
        process.exit(0);
      }, startMsMax).unref();
    });
    // Imported here because only this command needs it. Without it, the others start in 0.15 s instead of 0.45 s.
    const { startService } = await import('../service.js');
    const service = await startService(config, logger, Date.now, env);
    mayExit = false;
    useHeapSparingly();
    if (config.databaseUrl === undefined) await welcome(service, config, terminal);
    else if (service.consoleLink) logger.info(`console at ${service.consoleLink()}`);
    const end = await Promise.race([stopped, service.refused]);
    if (end instanceof Error) setTimeout(() => process.exit(1), drainMsMax).unref();
    await service.stop();
    if (end instanceof Error) throw end;
    logger.info('stopped');
    if (end === 'SIGHUP') terminal.hangUp();
  },
};

export const demo: OperatorCommand = {
  name: 'demo',
  options: {
    rate: {
      value: 'n/s',
      description: 'Events per second (20/s) or per minute (600/m).',
      fallback: '20/s',
    },
    for: { value: '60s', description: 'Stop after this length of time.' },
    json: { description: 'Print the summary as one JSON object.' },
  },
  fallbacks: {
    egressAllow: '127.0.0.0/8,::1/128',
    retryScheduleMs: '2s,5s,10s,20s',
    rateLimitReads: '0',
    rateLimitWrites: '0',
    logLevel: 'warn',
  },
  // Imported here because no other command needs it.
  run: async (context) => (await import('./demo-run.js')).runDemoCommand(context),
};

export const migrateCommand: OperatorCommand = {
  name: 'migrate',
  options: { json },
  run: async ({ options, config, terminal }) => {
    terminal.finishesWithoutReader = true;
    const { database, embedded, close } = await openTarget(config);
    // These settings suggest production, so DATABASE_URL may be missing by mistake.
    if (embedded && (config.secretKeys ?? config.platformToken) !== undefined && !options.json)
      terminal.line(`DATABASE_URL is not set: using the embedded database in ${resolve(config.dataDir)}.`);
    try {
      const applied = await migrate(database, () => {
        if (!options.json) terminal.line(blocked);
      });
      if (options.json) {
        terminal.line(JSON.stringify({ applied }));
        return;
      }
      for (const name of applied) terminal.line(`applied ${name}`);
      if (applied.length === 0) terminal.line('Nothing to apply: the database is up to date.');
    } finally {
      await close();
    }
  },
};
