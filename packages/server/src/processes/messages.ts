import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { DatabaseTarget } from '../postgres/database.js';

/** The metrics of one process, as values. */
export type Figures = MetricObjectWithValues<MetricValue<string>>[];

/** The addresses of the listeners, which all workers share. */
export interface SharedUrls {
  publicUrl: string | undefined;
  platformUrl: string | undefined;
}

/** What a worker has to know to start. */
export interface Start {
  kind: 'start';
  /** The number of this process, from 1. */
  process: number;
  processes: number;
  /** The embedded database, which the supervisor runs. Undefined if DATABASE_URL is set. */
  target: DatabaseTarget | undefined;
}

/** What the supervisor sends to a worker. */
export type SupervisorMessage =
  | Start
  /** Gently: other workers have taken over, so no request has to be refused. */
  | { kind: 'stop'; gently: boolean }
  | { kind: 'read figures' }
  | { kind: 'metrics'; text: string };

/** What a worker sends to the supervisor. */
export type WorkerMessage =
  /** The worker can receive messages. What is sent before that is lost. */
  | { kind: 'hello' }
  | { kind: 'ready'; urls: SharedUrls }
  /** Why the worker cannot start, in one line for the operator. */
  | { kind: 'failed'; reason: string }
  /** The response to `read figures`. */
  | { kind: 'figures'; figures: Figures }
  /** The response is `metrics`. */
  | { kind: 'collect metrics' };
