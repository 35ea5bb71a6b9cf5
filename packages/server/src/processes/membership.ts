import type { DatabaseTarget } from '../postgres/database.js';

/** Reports that the processes could not start, or that one of them does not keep running. */
export class ProcessesFailed extends Error {
  override name = 'ProcessesFailed';
}

/** What a service gets from its supervisor if several processes on this machine share its listeners. */
export interface Membership {
  /** The number of this process, from 1. */
  process: number;
  processes: number;
  /** The embedded database, which the supervisor runs. Undefined with DATABASE_URL. */
  target: DatabaseTarget | undefined;
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
