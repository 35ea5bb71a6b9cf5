import { stdout } from 'node:process';
import { type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { Terminal } from 'posthorn';
import type { Config } from '../settings/config.js';

/** Creates the log of a service. With several processes, each line has the number of its process. */
export function createLogger(config: Config, terminal: Terminal, process?: number): Logger {
  const options = {
    level: config.logLevel,
    base: process === undefined ? null : { process },
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
  return pino(options, { write: (line: string) => stdout.write(pretty(line)) });
}
