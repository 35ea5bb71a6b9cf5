import { type Logger, pino } from 'pino';
import { type Config, settings, unknownSettings } from '../config.js';
import { dashboard } from '../demo/dashboard.js';
import { isExpected, type RunningDemo, runDemo } from '../demo/demo.js';
import { parseRate, rateAccepts } from '../demo/rate.js';
import { Screen } from '../demo/screen.js';
import { progressLine, summaryLines } from '../demo/summary.js';
import { parseDurationMs } from '../domain/duration.js';
import { CommandFailure, type Context, UsageError } from './command.js';
import type { Terminal } from './terminal.js';

const frameMs = 250;
const lineMs = 5_000;
const forMsMax = 7 * 86_400_000;
const keptLogLines = 20;
const sameSignalMs = 1_000;

export async function runDemoCommand({ options, config, env, terminal }: Context): Promise<void> {
  const perSecond = rateOf(options.rate ?? '20/s');
  const forMs = options.for === undefined ? undefined : timeOf(options.for);
  const stop = new Stop();
  terminal.endsWithItsReader = false;
  process.stdout.on('error', () => stop.ask());
  const log = new LogKeeper();
  const isDashboard = terminal.isInteractive && env.TERM !== 'dumb';
  const isTold = !options.json || isDashboard;
  let view: View | undefined;
  for (const warning of unknownSettings(env)) console.error(warning);
  if (terminal.isInteractive) terminal.line('Starting …');
  try {
    const summary = await runDemo({
      ...{ config, perSecond, forMs, stop: stop.signal },
      logger: createLogger(config, log),
      seed: Date.now(),
      onStart: (running) => {
        if (isDashboard) view = new DashboardView(running, terminal, stop, log);
        else if (isTold) view = new LineView(running, terminal);
      },
    });
    view?.close();
    if (options.json) terminal.line(JSON.stringify(summary));
    else for (const line of [...summaryLines(summary), '', ...farewell(config)]) terminal.line(line);
  } catch (error) {
    throw isExpected(error) ? new CommandFailure(error.message) : error;
  } finally {
    view?.close();
    log.release();
    if (stop.isHungUp) terminal.hangUp();
  }
}

/**
 * Stops the demo gracefully on the first signal and at once on a later one. A signal right after the first is
 * the same Ctrl-C, passed on by npm.
 */
class Stop {
  readonly #controller = new AbortController();
  #askedMs = 0;
  /** The terminal was closed. */
  isHungUp = false;

  constructor() {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => this.insist());
    process.on('SIGHUP', () => {
      this.isHungUp = true;
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  ask(): void {
    if (this.signal.aborted) return;
    this.#askedMs = performance.now();
    this.#controller.abort();
  }

  insist(): void {
    if (this.signal.aborted && performance.now() - this.#askedMs > sameSignalMs) process.exit(130);
    this.ask();
  }
}

interface View {
  close: () => void;
}

class DashboardView implements View {
  readonly #screen: Screen;
  readonly #timer: NodeJS.Timeout;
  readonly #log: LogKeeper;

  constructor(running: RunningDemo, terminal: Terminal, stop: Stop, log: LogKeeper) {
    const draw = () =>
      this.#screen.show(
        dashboard(running.figures, running.situation(), this.#screen.size, (style, text) =>
          terminal.paint(style, text),
        ),
      );
    this.#log = log;
    log.hold((message) => running.figures.troubled(message));
    this.#screen = new Screen(process.stdout, process.stdin, {
      onResize: draw,
      onKey: (keys) => {
        for (const key of keys) {
          if (key === 'q' || key === 'Q') stop.ask();
          else if (key === ctrlC) stop.insist();
          else if (key === '+' || key === '=') running.changePace(2);
          else if (key === '-') running.changePace(0.5);
        }
        draw();
      },
    });
    this.#timer = setInterval(draw, frameMs);
    draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#screen.close();
    this.#log.release();
  }
}

const ctrlC = '\u0003';

/** Prints one line every few seconds, without escape codes, for pipes and logs. */
class LineView implements View {
  readonly #timer: NodeJS.Timeout;

  constructor(running: RunningDemo, terminal: Terminal) {
    const { publicUrl, organizationId } = running.situation();
    terminal.line(`Demo running: ${organizationId} on ${publicUrl}`);
    this.#timer = setInterval(
      () => terminal.line(progressLine(running.figures, running.situation().nowMs)),
      lineMs,
    );
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/** Holds log lines back while the dashboard is shown; they would break it up. */
class LogKeeper {
  #onWarning: ((message: string) => void) | undefined;
  #held: string[] = [];

  write(line: string): void {
    if (!this.#onWarning) {
      process.stderr.write(line);
      return;
    }
    this.#held = [...this.#held, line].slice(-keptLogLines);
    const { level, msg, reason } = JSON.parse(line) as { level: string; msg: string; reason?: string };
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

function createLogger(config: Config, log: LogKeeper): Logger {
  return pino(
    {
      level: config.logLevel,
      base: null,
      formatters: { level: (label: string) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    log,
  );
}

function rateOf(text: string): number {
  const perSecond = parseRate(text);
  if (perSecond === undefined)
    throw new UsageError(`--rate: '${text}' is not valid. Expected ${rateAccepts}.`);
  return perSecond;
}

function timeOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms > 0 && ms <= forMsMax) return ms;
  throw new UsageError(`--for: '${text}' is not valid. Expected a duration such as 60s or 10m, at most 7d.`);
}

function farewell({ databaseUrl, dataDir }: Config): string[] {
  const isEmbedded = databaseUrl === undefined;
  const place = isEmbedded ? dataDir : 'the database';
  const same = isEmbedded ? '' : ' with the same DATABASE_URL';
  const variable =
    isEmbedded && dataDir !== settings.dataDir.fallback ? `POSTHORN_DATA_DIR=${quoted(dataDir)} ` : '';
  return [
    `All data stays in ${place}. The demo webhooks are disabled.`,
    `To list the events, run this${same}:`,
    `  ${variable}npx posthorn events list --organization ORG-demo`,
  ];
}

/** Quotes a text for the shell if it needs quotes. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
