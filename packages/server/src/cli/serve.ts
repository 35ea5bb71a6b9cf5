import { type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { Terminal } from 'posthorn';
import { type Config, unknownSettings } from '../config.js';
import { demoOrganization, demoTokenFile, prepareDemo } from '../demo-data.js';
import type { Service } from '../service.js';
import { useHeapSparingly } from './heap.js';
import type { OperatorCommand } from './operator.js';
import { shellWord } from './shell-word.js';

const drainMsMax = 9_900;

export const serve: OperatorCommand = {
  name: 'serve',
  summary: 'Apply migrations and start the service.',
  options: {
    'allow-loopback': {
      description:
        'Allow deliveries to this machine unless POSTHORN_EGRESS_ALLOW is set. For development only.',
    },
  },
  showsSettings: true,
  run: async ({ config, env, terminal }) => {
    terminal.endsWithItsReader = false;
    useHeapSparingly();
    const logger = createLogger(config, terminal);
    for (const warning of unknownSettings(env)) logger.warn(warning);
    const stopped = stopSignal(logger);
    // Imported here because only this command needs it. Without it, the others start in 0.15 s instead of 0.45 s.
    const { startService } = await import('../service.js');
    const service = await startService(config, logger, Date.now, env);
    if (config.databaseUrl === undefined) await welcome(service, config, terminal);
    else if (service.consoleLink) logger.info(`console at ${service.consoleLink()}`);
    const signal = await stopped;
    // A hanging request must not keep the process alive. Unfinished deliveries are attempted after the restart.
    setTimeout(() => process.exit(0), drainMsMax).unref();
    await service.stop();
    logger.info('stopped');
    if (signal === 'SIGHUP') terminal.hangUp();
  },
};

/**
 * Resolves on the first stop signal. SIGHUP means that the terminal was closed, which also stops the embedded
 * database.
 */
function stopSignal(logger: Logger): Promise<NodeJS.Signals> {
  return new Promise((stop) => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(name, () => {
        logger.info({ signal: name }, 'stopping');
        stop(name);
      });
    }
  });
}

function createLogger(config: Config, terminal: Terminal): Logger {
  const options = {
    level: config.logLevel,
    base: null,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (!terminal.isInteractive) {
    const lines = pino.destination({ dest: 1, sync: true });
    lines.on('error', () => undefined);
    return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, lines);
  }
  const pretty = prettyFactory({
    colorize: true,
    translateTime: 'HH:MM:ss',
    ignore: 'listener,request_id,token_id,organization_id,url',
    hideObject: false,
    singleLine: true,
  });
  return pino(options, { write: (line: string) => process.stdout.write(pretty(line)) });
}

/**
 * Prints what a new user needs first: the addresses, a token, and a command to paste. The token itself is shown only in
 * a terminal, because other output may be stored.
 */
async function welcome(service: Service, config: Config, terminal: Terminal): Promise<void> {
  const { publicUrl, platformUrl, consoleLink, database } = service;
  const token = await prepareDemo(database, config.dataDir, Date.now());
  const shown = terminal.isInteractive ? token : undefined;
  const tokenFile = `${config.dataDir}/${demoTokenFile}`;
  const bold = (text: string) => terminal.paint('bold', text);
  const row = (name: string, value: string) => terminal.line(`  ${name.padEnd(20)}${value}`);
  terminal.line();
  terminal.line(bold('Posthorn is ready.'));
  if (consoleLink) row('Console', bold(consoleLink(shown)));
  if (publicUrl) row('API', publicUrl);
  if (publicUrl) row('API reference', `${publicUrl}/docs`);
  if (platformUrl) row('Platform listener', `${platformUrl}  (token: ${config.dataDir}/platform-token)`);
  row('Demo organization', demoOrganization);
  row('Demo token', shown ?? `in ${tokenFile}`);
  if (publicUrl) {
    const authorization = `"Authorization: Bearer $(cat ${shellWord(tokenFile)})"`;
    terminal.line();
    terminal.line('List the latest events:');
    terminal.line();
    terminal.line(
      bold(`  curl -H ${authorization} '${publicUrl}/v1/events?organization_id=${demoOrganization}&limit=3'`),
    );
  }
  terminal.line();
}
