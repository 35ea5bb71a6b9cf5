import cluster, { type Worker } from 'node:cluster';
import type { Logger } from 'pino';
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { DatabaseTarget } from '../postgres/database.js';
import { OperatorError } from '../values/problem.js';
import * as membership from './membership.js';

export interface SupervisorOptions {
  processes: number;
  target: DatabaseTarget | undefined;
  logger: Logger;
  /** The program that workers run. By default, it is the program of this process. */
  program?: string;
}

/** The number of the supervisor in the log and in metrics. Those of the processes start at 1. */
export const supervisorNumber = 0;
/** A worker drains within this time, so that the supervisor can end within 10 s. */
export const stopMsMax = 9_700;
/** The same for a worker that is replaced. It first lets its clients move to another process. */
const replaceMsMax = 12_000;
/** A process that lived this long started properly, so something other than its start ended it. */
const steadyMs = 10_000;
const firstWaitMs = 100;
/** After this many short lives in a row, starting again does not help. */
const shortLivesMax = 5;

/**
 * Runs workers that share the listeners. The supervisor accepts connections and hands each to a worker in turn, so a
 * worker that ends takes no waiting connection with it.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #alive = new Set<Child>();
  /** The worker with each number. While it is being replaced, a second one is alive. */
  readonly #current = new Map<number, Child>();
  readonly #registry = new Registry();
  readonly #crashes = new Counter({
    name: 'posthorn_process_crashes_total',
    help: 'Processes of this node that ended unexpectedly and were started again',
    registers: [this.#registry],
  });
  readonly #responding = new Gauge({
    name: 'posthorn_processes',
    help: 'Processes of this node that responded to this scrape',
    registers: [this.#registry],
  });
  readonly #timers = new Set<NodeJS.Timeout>();
  #state: 'running' | 'stopping' = 'running';
  #restarting: Promise<void> = Promise.resolve();
  #giveUp: (failure: OperatorError) => void = () => undefined;
  /** Resolves if a process ends again and again. */
  readonly givenUp: Promise<OperatorError>;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.givenUp = new Promise((resolve) => {
      this.#giveUp = resolve;
    });
    collectDefaultMetrics({ register: this.#registry, labels: { process: String(supervisorNumber) } });
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // `advanced`, because a metric can be NaN, which JSON cannot represent.
    cluster.setupPrimary({
      serialization: 'advanced',
      ...(options.program === undefined ? {} : { exec: options.program, args: [] }),
    });
  }

  /** Starts one process, to find out whether the settings work, and then the others. */
  async start(): Promise<membership.SharedUrls> {
    const { logger, processes } = this.#options;
    const first = this.#fork(1);
    const urls = await first.ready;
    if (!urls) throw new OperatorError(reasonOf(await first.ended));
    this.#employ(first, 0);
    if (this.#state === 'stopping') return urls;
    const others = Array.from({ length: processes - 1 }, (_, index) => this.#fork(index + 2));
    for (const child of others) this.#employ(child, 0);
    await Promise.all(others.map(({ ready }) => ready));
    logger.info({ processes }, 'all processes are running');
    return urls;
  }

  /** Replaces the processes one by one. Each new one listens before the old one stops, so no request is refused. */
  restart(): Promise<void> {
    this.#restarting = this.#restarting.then(() => this.#replaceAll());
    return this.#restarting;
  }

  async #replaceAll(): Promise<void> {
    const { logger, processes } = this.#options;
    for (let process = 1; process <= processes; process += 1) {
      if (this.#state === 'stopping') return;
      const child = this.#fork(process);
      if (!(await child.ready)) {
        const reason = reasonOf(await child.ended);
        if (this.#state === 'running')
          logger.error(
            { worker: process, reason },
            'the restart was stopped because a new process did not start',
          );
        return;
      }
      const old = this.#current.get(process);
      this.#employ(child, 0);
      await old?.stop(true, replaceMsMax);
    }
    logger.info({ processes }, 'all processes were restarted');
  }

  #fork(process: number): Child {
    const { processes, target } = this.#options;
    const child = new Child({ process, processes, target }, () => this.#collectMetrics());
    this.#alive.add(child);
    void child.ended.then(() => this.#alive.delete(child));
    return child;
  }

  /** Makes this the current worker with its number. If it ends without being told to, another one replaces it. */
  #employ(child: Child, shortLives: number): void {
    this.#current.set(child.process, child);
    void child.ready.then((urls) => {
      if (urls) this.#options.logger.info({ worker: child.process, pid: child.pid }, 'a process is running');
    });
    void child.ended.then((ending) => {
      if (this.#current.get(child.process) !== child) return;
      this.#current.delete(child.process);
      if (!child.isToldToStop && this.#state === 'running') this.#recover(child, ending, shortLives);
    });
  }

  #recover(child: Child, ending: Ending, shortLivesBefore: number): void {
    const { logger } = this.#options;
    const { process } = child;
    const isSteady = performance.now() - child.startedMs >= steadyMs;
    const shortLives = isSteady ? 0 : shortLivesBefore + 1;
    const wait_ms = waitAfter(shortLives);
    const reason = reasonOf(ending);
    this.#crashes.inc();
    if (wait_ms === undefined) {
      this.#giveUp(
        new OperatorError(
          `Process ${process} ended ${shortLivesMax} times in a row shortly after it started, the last time with ` +
            `${reason}. All processes were stopped. The log shows what happened before that.`,
        ),
      );
      return;
    }
    logger.error({ worker: process, reason, wait_ms }, 'a process ended; starting another one');
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // A restart may have started one meanwhile.
      if (!this.#current.has(process)) this.#employ(this.#fork(process), shortLives);
    }, wait_ms);
    this.#timers.add(timer);
  }

  /** Returns the metrics of all processes that respond. Each series has the number of its process as a label. */
  async #collectMetrics(): Promise<string> {
    const figures = await Promise.all([...this.#alive].map((child) => child.readFigures()));
    const responses = figures.filter((each) => each !== undefined);
    this.#responding.set(responses.length);
    const own = (await this.#registry.getMetricsAsJSON()) as membership.Figures;
    const all = [...responses, own].map((each) => each.map((metric) => ({ ...metric, aggregator: 'first' })));
    return AggregatorRegistry.aggregate(all as membership.Figures[]).metrics();
  }

  /** Drains and ends all processes, within 10 s. */
  async stop(): Promise<void> {
    this.#state = 'stopping';
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([...this.#alive].map((child) => child.stop(false, stopMsMax)));
  }
}

function reasonOf({ code, signal, reason }: Ending): string {
  return reason ?? (signal ? `signal ${signal}` : `exit code ${code}`);
}

/** Returns how long to wait before starting a process again after so many short lives; undefined means to give up. */
export function waitAfter(shortLives: number): number | undefined {
  return shortLives >= shortLivesMax ? undefined : firstWaitMs * 2 ** Math.max(0, shortLives - 1);
}

const figuresMsMax = 2_000;

/** How a worker ended. */
interface Ending {
  code: number | null;
  signal: string | null;
  /** Why the worker could not start, if it reported that. */
  reason: string | undefined;
}

/** One worker process, seen from the supervisor. `collectMetrics` returns the metrics of all processes. */
class Child {
  readonly process: number;
  readonly startedMs = performance.now();
  /** Resolves with the worker's addresses when it is listening, or with undefined if it ends first. */
  readonly ready: Promise<membership.SharedUrls | undefined>;
  readonly ended: Promise<Ending>;
  readonly #worker: Worker;
  /** What waits for the worker's metrics, oldest first. */
  readonly #asked: ((figures?: membership.Figures) => void)[] = [];
  #isReady = false;
  /** Whether the supervisor has told this worker to stop. */
  isToldToStop = false;

  constructor(start: membership.Start, collectMetrics: () => Promise<string>) {
    this.process = start.process;
    const worker = cluster.fork({ [membership.startVariable]: JSON.stringify(start) });
    this.#worker = worker;
    let reason: string | undefined;
    this.ended = new Promise((end) => {
      worker.once('exit', (code, signal) => end({ code, signal, reason }));
      // Sending a message to a worker that was killed may fail. In that case, `exit` follows. If the system could not
      // start the process at all, `exit` never comes.
      worker.on('error', (error) => {
        if (this.pid === undefined) end({ code: null, signal: null, reason: error.message });
      });
    });
    this.ready = new Promise((listens) => {
      worker.on('message', (report: membership.WorkerMessage) => {
        if (report.kind === 'ready') {
          this.#isReady = true;
          listens(report.urls);
        } else if (report.kind === 'failed') reason = report.reason;
        else if (report.kind === 'figures') this.#asked.shift()?.(report.figures);
        else
          void collectMetrics()
            .then((text) => this.send({ kind: 'metrics', text }))
            .catch(() => undefined);
      });
      void this.ended.then(() => {
        listens(undefined);
        for (const respond of this.#asked) respond();
      });
    });
  }

  send(message: membership.SupervisorMessage): void {
    if (this.#worker.isConnected()) this.#worker.send(message, () => undefined);
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** Stops the worker, and kills it if it has not ended after `msMax`. */
  async stop(gently: boolean, msMax: number): Promise<void> {
    this.isToldToStop = true;
    // A worker that is still starting may not receive messages yet.
    if (this.#isReady) this.send({ kind: 'stop', gently });
    else this.#worker.process.kill('SIGTERM');
    const late = setTimeout(() => this.#worker.process.kill('SIGKILL'), msMax);
    await this.ended;
    clearTimeout(late);
  }

  /** Returns the worker's metrics, or undefined if it does not respond in time. */
  readFigures(): Promise<membership.Figures | undefined> {
    return new Promise((resolve) => {
      const late = setTimeout(() => resolve(undefined), figuresMsMax);
      this.#asked.push((figures) => {
        clearTimeout(late);
        resolve(figures);
      });
      this.send({ kind: 'read figures' });
    });
  }
}
