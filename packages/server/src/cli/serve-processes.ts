import type { Logger } from 'pino';
import { retireNodes } from '../cells/node-store.js';
import { consoleLinks } from '../console/console.js';
import { type EmbeddedDatabase, openEmbedded } from '../embedded/embedded.js';
import { Database, type DatabaseTarget } from '../postgres/database.js';
import { readDatabaseFacts } from '../postgres/database-checks.js';
import { migrate } from '../postgres/migrate.js';
import { connectionsOf, type ProcessesFailed } from '../processes/membership.js';
import type { SharedUrls } from '../processes/messages.js';
import { Supervisor, supervisorNumber } from '../processes/supervisor.js';
import type { Config } from '../settings/config.js';
import { unknownSettings } from '../settings/unknown-settings.js';
import { createLogger } from './log.js';
import type { OperatorContext } from './operator.js';
import { welcome } from './welcome.js';

/** Runs several processes under a supervisor until a signal ends them. */
export async function serveProcesses({ config, env, terminal }: OperatorContext): Promise<void> {
  const processes = config.processes ?? 1;
  const logger = createLogger(config, terminal, supervisorNumber);
  for (const warning of unknownSettings(env)) logger.warn(warning);
  let isRestartWanted = false;
  let restart = () => {
    isRestartWanted = true;
  };
  const stopped = stopSignal(logger, terminal.isInteractive, () => restart());
  const embedded = config.databaseUrl === undefined ? await openOwnDatabase(config.dataDir) : undefined;
  const supervisor = new Supervisor({ processes, logger, target: embedded?.connection });
  let isStopping = false;
  void stopped.then(() => {
    isStopping = true;
  });
  const greet = async ({ publicUrl, platformUrl }: SharedUrls) => {
    if (isStopping) return;
    const consoleLink = publicUrl === undefined ? undefined : consoleLinks(config, publicUrl);
    await useDatabase(config, embedded, async (database) => {
      await warnOfConnections(database, processes, logger);
      if (embedded) await welcome({ publicUrl, platformUrl, consoleLink, database }, config, terminal);
    }).catch((error) =>
      logger.warn({ reason: (error as Error).message }, 'the database cannot be checked yet'),
    );
    if (!embedded && consoleLink) logger.info(`console at ${consoleLink()}`);
    restart = () => void supervisor.restart();
    // A process that is already running may have loaded the code that was on disk before the signal.
    if (isRestartWanted) restart();
  };
  const running = supervisor.start().then(greet);
  let end: NodeJS.Signals | ProcessesFailed;
  try {
    end = await Promise.race([running.then(() => supervisor.givenUp), supervisor.givenUp, stopped]);
  } finally {
    await supervisor.stop();
    await embedded?.close();
  }
  if (end instanceof Error) throw end;
  logger.info('stopped');
  if (end === 'SIGHUP') terminal.hangUp();
}

/** Starts the embedded database for all processes. No other node can use it, so every registered one is dead. */
async function openOwnDatabase(dataDir: string): Promise<EmbeddedDatabase> {
  const embedded = await openEmbedded(dataDir, 'serve');
  const database = new Database(embedded.connection, 1);
  try {
    await migrate(database);
    await retireNodes(database, 'all');
    return embedded;
  } catch (error) {
    await embedded.close();
    throw error;
  } finally {
    await database.close();
  }
}

async function useDatabase(
  { databaseUrl: connectionString = '' }: Config,
  embedded: EmbeddedDatabase | undefined,
  work: (database: Database) => Promise<void>,
): Promise<void> {
  const target: DatabaseTarget = embedded?.connection ?? { connectionString };
  const database = new Database(target, 2);
  await work(database).finally(() => database.close());
}

async function warnOfConnections(database: Database, processes: number, logger: Logger): Promise<void> {
  const { settings } = await readDatabaseFacts(database);
  const [needed, allowed] = [connectionsOf(processes), Number(settings.max_connections)];
  if (needed > allowed)
    logger.warn(
      { processes, connections: needed, max_connections: allowed },
      'the processes can open more connections than the database accepts; raise max_connections, or use fewer processes',
    );
}

/**
 * Resolves on the first signal to stop. SIGHUP restarts the processes, unless the service runs in a terminal: then it
 * means that the terminal was closed.
 */
function stopSignal(logger: Logger, isInteractive: boolean, onRestart: () => void): Promise<NodeJS.Signals> {
  return new Promise((stop) => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(name, () => {
        const restarts = name === 'SIGHUP' && !isInteractive;
        logger.info({ signal: name }, restarts ? 'restarting the processes one by one' : 'stopping');
        if (restarts) onRestart();
        else stop(name);
      });
    }
  });
}
