import type { Logger } from 'pino';
import { CommandFailure } from 'posthorn';
import { retireNodes } from '../cells/node-store.js';
import { consoleLinks } from '../console/console.js';
import type { Database } from '../postgres/database.js';
import { readDatabaseFacts } from '../postgres/database-checks.js';
import { migrate } from '../postgres/migrate.js';
import { connectionsOf, type Figures, Member, type SharedUrls, type Start } from '../processes/membership.js';
import { Supervisor, supervisorNumber } from '../processes/supervisor.js';
import { startService } from '../service.js';
import { type Config, unknownSettings } from '../settings/config.js';
import type { OperatorError } from '../values/problem.js';
import { failureOf, type OperatorContext, openTarget } from './operator.js';
import { createLogger, stopSignal, useHeapSparingly, welcome } from './service-process.js';

/** Runs several processes under a supervisor until a signal ends them. */
export async function serveProcesses({ config, env, terminal }: OperatorContext): Promise<void> {
  const processes = config.processes ?? 1;
  const logger = createLogger(config, terminal, supervisorNumber);
  for (const warning of unknownSettings(env)) logger.warn(warning);
  let isRestartWanted = false;
  let restart = () => {
    isRestartWanted = true;
  };
  let isStopping = false;
  const stopped = stopSignal(
    logger,
    () => {
      isStopping = true;
    },
    terminal.isInteractive ? undefined : () => restart(),
  );
  const { database, embedded, close } = await openTarget(config, 'serve');
  const supervisor = new Supervisor({ processes, logger, target: embedded?.connection });
  const greet = async ({ publicUrl, platformUrl }: SharedUrls) => {
    if (isStopping) return;
    const consoleLink = publicUrl === undefined ? undefined : consoleLinks(config, publicUrl);
    try {
      await warnOfConnections(database, processes, logger);
      if (embedded) await welcome({ publicUrl, platformUrl, consoleLink, database }, config, terminal);
    } catch (error) {
      logger.warn({ reason: (error as Error).message }, 'the database cannot be checked yet');
    }
    if (!embedded && consoleLink) logger.info(`console at ${consoleLink()}`);
    restart = () => void supervisor.restart();
    // A process that is already running may have loaded the code that was on disk before the signal.
    if (isRestartWanted) restart();
  };
  let end: NodeJS.Signals | OperatorError;
  try {
    if (embedded) {
      await migrate(database);
      // No other node can use the embedded database, so every registered one is dead.
      await retireNodes(database, 'all');
    }
    const running = supervisor.start().then(greet);
    end = await Promise.race([running.then(() => supervisor.givenUp), supervisor.givenUp, stopped]);
  } finally {
    await supervisor.stop();
    await close();
  }
  if (end instanceof Error) throw end;
  logger.info('stopped');
  if (end === 'SIGHUP') terminal.hangUp();
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

/** Longer than the engine takes to drain, and shorter than the time after which the supervisor kills this process. */
export const drainMsMax = 9_400;

/** Runs one of several processes, under a supervisor. */
export async function serveAsProcess({ config, env, terminal }: OperatorContext): Promise<void> {
  const member = new Member();
  const { start } = member;
  const logger = createLogger(config, terminal, start.process);
  const service = await startService(configOf(config, start), logger, Date.now, env, {
    ...start,
    collectMetrics: () => member.collectMetrics(),
  }).catch((error) => fail(member, error));
  useHeapSparingly();
  const { registry } = service.metrics;
  member.ready(service, async () => (await registry.getMetricsAsJSON()) as Figures);
  const end = await Promise.race([member.stop, service.refused]);
  if (end instanceof Error) return fail(member, end);
  logger.info('stopping');
  if (end.gently) await service.withdraw();
  setTimeout(() => process.exit(0), drainMsMax).unref();
  await service.stop();
  logger.info('stopped');
  process.exit(0);
}

/** Ends this process. The supervisor reports why, unless it is a bug, which this process reports itself. */
async function fail(member: Member, error: unknown): Promise<never> {
  const failure = failureOf(error);
  if (!(failure instanceof CommandFailure)) throw error;
  await member.failed(failure.message);
  process.exit(failure.exitCode);
}

/** Returns the settings of one process. Only the first does maintenance, because the others would repeat it. */
function configOf(config: Config, { process }: Start): Config {
  if (process === 1) return config;
  return { ...config, roles: new Set([...config.roles].filter((role) => role !== 'maintenance')) };
}
