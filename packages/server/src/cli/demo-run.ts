import { join } from 'node:path';
import * as demo from '@posthorn/demo';
import type { Logger } from 'pino';
import { CommandFailure, invalid, shellWord } from 'posthorn';
import { startService } from '../service.js';
import { type Config, settings, unknownSettings } from '../settings/config.js';
import { platformToken } from '../settings/keys.js';
import { createAddressPolicy } from '../values/address.js';
import { parseDurationMs } from '../values/time.js';
import type { OperatorContext } from './operator.js';
import * as serving from './service-process.js';

const forMsMax = 7 * 86_400_000;
const keptLogLines = 20;
const sameSignalMs = 1_000;

export async function runDemoCommand({ options, config, env, terminal }: OperatorContext): Promise<void> {
  const rate = options.rate ?? '20/s';
  const perSecond = demo.parseRate(rate);
  if (perSecond === undefined) throw invalid('rate', rate, demo.rateAccepts);
  const forMs = options.for === undefined ? undefined : timeOf(options.for);
  for (const warning of unknownSettings(env)) console.error(warning);
  requireSettings(config);
  const stop = new Stop();
  terminal.endsWithItsReader = false;
  process.stdout.on('error', () => stop.abort());
  const log = new LogKeeper();
  const isDashboard = terminal.isInteractive && env.TERM !== 'dumb';
  let closeView = () => {};
  const onStart = (running: demo.RunningDemo) => {
    if (isDashboard) {
      log.hold((message) => running.figures.troubled(message));
      const keys = { onQuit: () => stop.abort(), onInterrupt: () => stop.insist() };
      closeView = demo.showDashboard(running, (style, text) => terminal.paint(style, text), keys);
    } else if (!options.json) closeView = demo.printLines(running, (line) => terminal.line(line));
  };
  const close = () => {
    closeView();
    closeView = () => {};
    log.release();
  };
  if (terminal.isInteractive) terminal.line('Starting…');
  try {
    const logger = serving.loggerTo(log, config);
    const summary = await runOnService(config, logger, { perSecond, forMs, stop: stop.signal, onStart });
    close();
    if (options.json) terminal.line(JSON.stringify(summary));
    else for (const line of [...demo.summaryLines(summary), '', ...farewell(config)]) terminal.line(line);
  } catch (error) {
    throw error instanceof demo.Refused ? new CommandFailure(error.message) : error;
  } finally {
    close();
    if (stop.isHungUp) terminal.hangUp();
  }
}

/** Starts a service, runs the demo against it, and stops it. */
async function runOnService(
  config: Config,
  logger: Logger,
  options: Pick<demo.DemoOptions, 'perSecond' | 'forMs' | 'stop' | 'onStart'>,
): Promise<demo.Summary> {
  const service = await startService(config, logger);
  serving.useHeapSparingly();
  try {
    const accessToken = await serving.prepareDemo(service.database, config, Date.now());
    return await demo.runDemo({
      ...options,
      service: {
        publicUrl: service.publicUrl ?? '',
        platformUrl: service.platformUrl ?? '',
        accessToken,
        platformToken: config.platformToken ?? (await platformToken(config.dataDir)),
        attemptsMax: config.retryScheduleMs.length + 1,
        console: {
          url: service.consoleLink?.() ?? '',
          link: service.consoleLink?.(accessToken) ?? '',
          tokenFile: join(config.dataDir, serving.demoTokenFile),
        },
      },
      organizationId: serving.demoOrganization,
      seed: Date.now(),
    });
  } finally {
    await service.stop();
  }
}

function requireSettings({ roles, egressAllow }: Config): void {
  const missing = (['api', 'platform', 'delivery'] as const).filter((role) => !roles.has(role));
  if (missing.length > 0) {
    throw new CommandFailure(
      `POSTHORN_ROLES: the demo also needs ${missing.join(' and ')}; add the role or unset the variable.`,
    );
  }
  if (createAddressPolicy(egressAllow).judge('127.0.0.1') !== 'allowed') {
    throw new CommandFailure(
      'POSTHORN_EGRESS_ALLOW: the receivers of the demo are on 127.0.0.1; add 127.0.0.0/8 or leave it unset.',
    );
  }
}

/**
 * Stops the demo gracefully on the first signal and immediately on a later one. A signal right after the first one is
 * the same Ctrl-C, forwarded by npm.
 */
class Stop extends AbortController {
  #askedMs = 0;
  /** Whether the terminal was closed. */
  isHungUp = false;

  constructor() {
    super();
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(name, () => {
        this.isHungUp ||= name === 'SIGHUP';
        this.insist();
      });
  }

  insist(): void {
    if (this.signal.aborted && performance.now() - this.#askedMs > sameSignalMs) process.exit(130);
    if (!this.signal.aborted) this.#askedMs = performance.now();
    this.abort();
  }
}

/** Holds log lines while the dashboard is visible, because they would break its layout. */
class LogKeeper {
  #onWarning: ((message: string) => void) | undefined;
  #held: string[] = [];

  write(line: string): void {
    const { level, msg, reason } = JSON.parse(line) as { level: string; msg: string; reason?: string };
    // Some receivers of the demo fail on purpose. The figures show this.
    if (msg === 'delivery') return;
    if (!this.#onWarning) {
      process.stderr.write(line);
      return;
    }
    this.#held = [...this.#held, line].slice(-keptLogLines);
    if (['warn', 'error', 'fatal'].includes(level)) this.#onWarning(reason ? `${msg}: ${reason}` : msg);
  }

  hold(onWarning: (message: string) => void): void {
    this.#onWarning = onWarning;
  }

  release(): void {
    this.#onWarning = undefined;
    process.stderr.write(this.#held.join(''));
    this.#held = [];
  }
}

function timeOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms > 0 && ms <= forMsMax) return ms;
  throw invalid('for', text, 'a duration such as 60s or 10m, at most 7d');
}

function farewell({ databaseUrl, dataDir }: Config): string[] {
  const isEmbedded = databaseUrl === undefined;
  const place = isEmbedded ? dataDir : 'the database';
  const same = isEmbedded ? '' : ' with the same DATABASE_URL';
  const variable =
    isEmbedded && dataDir !== settings.dataDir.fallback ? `POSTHORN_DATA_DIR=${shellWord(dataDir)} ` : '';
  return [
    `All data stays in ${place}. The demo webhooks are disabled.`,
    `To list the events, run this${same}:`,
    `  ${variable}npx posthorn events list --organization ORG-demo`,
  ];
}
