import cluster, { type Worker } from 'node:cluster';
import * as membership from './membership.js';

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
  readonly ready: Promise<membership.SharedUrls | undefined>;
  readonly ended: Promise<Ending>;
  readonly #worker: Worker;
  /** What waits for the worker's metrics, oldest first. */
  readonly #asked: ((figures?: membership.Figures) => void)[] = [];
  #isReady = false;
  #isToldToStop = false;

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

  /** Returns whether the supervisor has told this worker to stop. */
  get isToldToStop(): boolean {
    return this.#isToldToStop;
  }

  /** Stops the worker, and kills it if it has not ended after `msMax`. */
  async stop(gently: boolean, msMax: number): Promise<void> {
    this.#isToldToStop = true;
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
