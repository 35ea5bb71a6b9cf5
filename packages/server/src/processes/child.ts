import cluster, { type Worker } from 'node:cluster';
import type { Figures, SharedUrls, Start, SupervisorMessage, WorkerMessage } from './membership.js';

const figuresMsMax = 2_000;

/** How a worker ended. */
export interface Ending {
  code: number | null;
  signal: string | null;
  /** Why the worker could not start, if it reported that. */
  reason: string | undefined;
}

/** One worker process, seen from the supervisor. `collectMetrics` returns the metrics of all processes. */
export class Child {
  readonly process: number;
  readonly startedMs = performance.now();
  /** Resolves with the worker's addresses when it is listening, or with undefined if it ends first. */
  readonly ready: Promise<SharedUrls | undefined>;
  readonly ended: Promise<Ending>;
  readonly #worker: Worker;
  /** What waits for the worker's metrics, oldest first. */
  readonly #asked: ((figures?: Figures) => void)[] = [];
  #isToldToStop = false;

  constructor(start: Start, collectMetrics: () => Promise<string>) {
    this.process = start.process;
    const worker = cluster.fork();
    this.#worker = worker;
    let reason: string | undefined;
    let listens: (urls: SharedUrls | undefined) => void = () => undefined;
    this.ready = new Promise((resolve) => {
      listens = resolve;
    });
    worker.on('message', (report: WorkerMessage) => {
      if (report.kind === 'hello') this.#greet(start);
      else if (report.kind === 'ready') listens(report.urls);
      else if (report.kind === 'failed') reason = report.reason;
      else if (report.kind === 'figures') this.#asked.shift()?.(report.figures);
      else if (report.kind === 'collect metrics')
        void collectMetrics()
          .then((text) => this.send({ kind: 'metrics', text }))
          .catch(() => undefined);
    });
    this.ended = new Promise((resolve) => {
      const end = (ending: Ending) => {
        listens(undefined);
        for (const respond of this.#asked) respond();
        resolve(ending);
      };
      worker.once('exit', (code, signal) => end({ code, signal, reason }));
      // Sending a message to a worker that was killed may fail. In that case, `exit` follows. If the system could not
      // start the process at all, `exit` never comes.
      worker.on('error', (error) => {
        if (this.pid === undefined) end({ code: null, signal: null, reason: error.message });
      });
    });
  }

  #greet(start: Start): void {
    this.send(start);
    // The worker was told to stop before it could receive messages.
    if (this.#isToldToStop) this.send({ kind: 'stop', gently: false });
  }

  send(message: SupervisorMessage): void {
    if (this.#worker.isConnected()) this.#worker.send(message, () => undefined);
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** Returns whether the supervisor has told this worker to stop. */
  get isToldToStop(): boolean {
    return this.#isToldToStop;
  }

  /** Stops the worker, and kills it if it has not ended after `msMax`. */
  async stop(gently: boolean, msMax: number): Promise<void> {
    this.#isToldToStop = true;
    this.send({ kind: 'stop', gently });
    const late = setTimeout(() => this.#worker.process.kill('SIGKILL'), msMax);
    await this.ended;
    clearTimeout(late);
  }

  /** Returns the worker's metrics, or undefined if it does not respond in time. */
  readFigures(): Promise<Figures | undefined> {
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
