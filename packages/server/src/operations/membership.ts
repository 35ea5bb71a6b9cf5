import type { DatabaseTarget } from '../postgres/database.js';

/** What a service gets from its supervisor if several processes on this machine share its listeners. */
export interface Membership {
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
