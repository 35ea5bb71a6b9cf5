import { readFile } from 'node:fs/promises';
import { stdout } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { type DestinationStream, type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { shellWord, type Terminal } from 'posthorn';
import * as tokens from '../access/token.js';
import { createToken, findToken } from '../access/token-store.js';
import { operatorOrigin } from '../audit/audit-store.js';
import { readCatalogue } from '../catalogue/catalogue-store.js';
import type { NewEvent } from '../events/event.js';
import { batchOf, recordBatch } from '../events/recording-store.js';
import type { Database } from '../postgres/database.js';
import type { Service } from '../service.js';
import type { Config } from '../settings/config.js';
import { storedSecret } from '../settings/keys.js';

/** Creates the log of a service. With several processes, each line has the number of its process. */
export function createLogger(config: Config, terminal: Terminal, process?: number): Logger {
  if (!terminal.isInteractive) {
    const lines = pino.destination({ dest: 1, sync: true });
    lines.on('error', () => undefined);
    return loggerTo(lines, config, process);
  }
  const pretty = prettyFactory({
    colorize: true,
    translateTime: 'HH:MM:ss',
    ignore: 'listener,request_id,token_id,organization_id,url',
    hideObject: false,
    singleLine: true,
  });
  return loggerTo({ write: (line: string) => stdout.write(pretty(line)) }, config, process);
}

/** Creates a log of JSON lines. */
export function loggerTo(lines: DestinationStream, { logLevel }: Config, process?: number): Logger {
  return pino(
    {
      level: logLevel,
      base: process === undefined ? null : { process },
      formatters: { level: (label: string) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    lines,
  );
}

/**
 * Resolves on the first signal to stop, after `onStop`. SIGHUP means that the terminal was closed, unless there is
 * `onRestart`.
 */
export function stopSignal(
  logger: Logger,
  onStop: () => void,
  onRestart?: () => void,
): Promise<NodeJS.Signals> {
  return new Promise((stop) => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(name, () => {
        const restart = name === 'SIGHUP' ? onRestart : undefined;
        logger.info({ signal: name }, restart ? 'restarting the processes one by one' : 'stopping');
        if (restart) return restart();
        onStop();
        stop(name);
      });
    }
  });
}

/**
 * Keeps the heap of a service small: under load it would grow to four times what is in use; twice is enough. Call this
 * after startup: once a flag has changed, V8 rejects the code that Node compiled in advance, and has to compile each of
 * Node's modules that is loaded from then on.
 */
export function useHeapSparingly(): void {
  setFlagsFromString('--heap-growing-percent=100');
}

export const demoOrganization = 'ORG-demo';
/** The name of the file in the data directory. */
export const demoTokenFile = 'demo-token';
const demoEvents = new URL('../../assets/demo-events.json', import.meta.url);

/** Creates the demo token and, of built-in types, the demo events, once in a new embedded database. Returns the token. */
export async function prepareDemo(
  database: Database,
  { dataDir, cell }: Pick<Config, 'dataDir' | 'cell'>,
  nowMs: number,
): Promise<string> {
  const text = await storedSecret(dataDir, demoTokenFile, () => tokens.newTokenText(cell));
  if (await findToken(database, tokens.tokenHash(text))) return text;
  const token = tokens.newToken(
    {
      organization_id: demoOrganization,
      workspace_id: null,
      scopes: tokens.scopes,
      portal: false,
      actor: { type: 'user', id: 'USR-demo' },
      lifetimeMs: tokens.defaultLifetimeMs,
    },
    nowMs,
  );
  await createToken(database, token, text, operatorOrigin());
  if (!(await readCatalogue(database)).catalogue.builtin) return text;
  // A morning at a small company, oldest first.
  const events: NewEvent[] = JSON.parse(await readFile(demoEvents, 'utf8'));
  await recordBatch(database, batchOf(events));
  return text;
}

type Welcoming = Pick<Service, 'publicUrl' | 'platformUrl' | 'consoleLink' | 'database'>;

/**
 * Prints what a new user needs first: the addresses, a token, and a command to paste. The token itself is shown only in
 * a terminal, because other output may be stored.
 */
export async function welcome(service: Welcoming, config: Config, terminal: Terminal): Promise<void> {
  const { publicUrl, platformUrl, consoleLink, database } = service;
  const token = await prepareDemo(database, config, Date.now());
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
