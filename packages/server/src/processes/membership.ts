import cluster from 'node:cluster';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { DatabaseTarget } from '../postgres/database.js';

/** What a worker has to know to start. */
export interface Start {
  /** The number of this process, from 1. */
  process: number;
  processes: number;
  /** The embedded database, which the supervisor runs. Undefined with DATABASE_URL. */
  target: DatabaseTarget | undefined;
}

/** The environment variable that tells a worker how to start, in JSON. */
export const startVariable = 'POSTHORN_WORKER';

/** What a service gets if several processes on this machine share its listeners. */
export interface Membership extends Start {
  /** Returns the metrics of all processes. */
  collectMetrics: () => Promise<string>;
}

const connectionsOfAll = 40;

/** Returns how many connections the requests of one process may use. The engine and notifications have their own. */
export function requestConnections(processes: number): number {
  return Math.min(10, Math.max(4, Math.floor(connectionsOfAll / processes)));
}

/** Connections of a process besides those for requests: four for the engine, and one for notifications. */
const furtherConnections = 5;

/** Returns how many database connections all processes on this machine may open. */
export function connectionsOf(processes: number): number {
  return processes * (requestConnections(processes) + furtherConnections);
}

/** The metrics of one process, as values. */
export type Figures = MetricObjectWithValues<MetricValue<string>>[];

/** The addresses of the listeners, which all workers share. */
export interface SharedUrls {
  publicUrl: string | undefined;
  platformUrl: string | undefined;
}

/** What the supervisor sends to a worker. */
export type SupervisorMessage =
  /** Gently: other workers have taken over, so no request has to be refused. */
  { kind: 'stop'; gently: boolean } | { kind: 'read figures' } | { kind: 'metrics'; text: string };

/** What a worker sends to the supervisor. */
export type WorkerMessage =
  | { kind: 'ready'; urls: SharedUrls }
  /** Why the worker cannot start, in one line for the operator. */
  | { kind: 'failed'; reason: string }
  /** The response to `read figures`. */
  | { kind: 'figures'; figures: Figures }
  /** The response is `metrics`. */
  | { kind: 'collect metrics' };

/** A worker's connection to its supervisor. */
export class Member {
  readonly start: Start = JSON.parse(process.env[startVariable] ?? '{}');
  /** Resolves when the supervisor wants this process to end. */
  readonly stop: Promise<{ gently: boolean }>;
  #readFigures: () => Promise<Figures> = async () => [];
  /** What waits for the metrics of all processes, oldest first. */
  readonly #collecting: ((text: string) => void)[] = [];

  constructor() {
    this.stop = new Promise((end) => {
      process.on('message', (message: SupervisorMessage) => {
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
  ready({ publicUrl, platformUrl }: SharedUrls, readFigures: () => Promise<Figures>): void {
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
  #send(report: WorkerMessage): Promise<void> {
    return new Promise((sent) => {
      if (cluster.worker?.isConnected()) cluster.worker.send(report, undefined, () => sent());
      else sent();
    });
  }
}
