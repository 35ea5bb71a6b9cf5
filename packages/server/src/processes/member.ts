import cluster from 'node:cluster';
import * as membership from './membership.js';

/** A worker's connection to its supervisor. */
export class Member {
  readonly start: membership.Start = JSON.parse(process.env[membership.startVariable] ?? '{}');
  /** Resolves when the supervisor wants this process to end. */
  readonly stop: Promise<{ gently: boolean }>;
  #readFigures: () => Promise<membership.Figures> = async () => [];
  /** What waits for the metrics of all processes, oldest first. */
  readonly #collecting: ((text: string) => void)[] = [];

  constructor() {
    this.stop = new Promise((end) => {
      process.on('message', (message: membership.SupervisorMessage) => {
        if (message.kind === 'stop') end(message);
        else if (message.kind === 'metrics') this.#collecting.shift()?.(message.text);
        else void this.#readFigures().then((figures) => this.#send({ kind: 'figures', figures }));
      });
      // A service manager may signal every process of the service, so stop on SIGTERM. Ctrl-C and a closed terminal also
      // signal every process, but the supervisor acts on those.
      process.on('SIGTERM', () => end({ gently: false }));
    });
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  }

  /** Reports that this process is listening. */
  ready(
    { publicUrl, platformUrl }: membership.SharedUrls,
    readFigures: () => Promise<membership.Figures>,
  ): void {
    this.#readFigures = readFigures;
    void this.#send({ kind: 'ready', urls: { publicUrl, platformUrl } });
  }

  failed(reason: string): Promise<void> {
    return this.#send({ kind: 'failed', reason });
  }

  /** Returns the metrics of all processes on this machine. */
  collectMetrics(): Promise<string> {
    return new Promise((resolve) => {
      this.#collecting.push(resolve);
      void this.#send({ kind: 'collect metrics' });
    });
  }

  /** Resolves when the message is on its way. If the supervisor has died, Node ends this process. */
  #send(report: membership.WorkerMessage): Promise<void> {
    return new Promise((sent) => {
      if (cluster.worker?.isConnected()) cluster.worker.send(report, undefined, () => sent());
      else sent();
    });
  }
}
