import type { Logger } from 'pino';
import { dayMs } from './domain/duration.js';
import { oldestReadableMs } from './domain/event.js';
import { Repeating } from './signals/repeating.js';
import type { Database } from './storage/database.js';
import { deleteEventKeys } from './storage/events.js';
import { dropPartitions, makePartitionsAhead } from './storage/partitions.js';
import { deleteRequestKeys } from './storage/request-keys.js';

const everyMs = 600_000;

/** What has to be done now and then so that the store stays in shape. */
export class Maintenance {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #now: () => number;
  #repeating: Repeating | undefined;

  constructor(database: Database, logger: Logger, now: () => number) {
    this.#database = database;
    this.#logger = logger;
    this.#now = now;
  }

  async start(): Promise<void> {
    await this.run();
    this.#repeating = new Repeating(everyMs, () => this.run(), this.#logger);
  }

  /** Every part of it, whatever comes of the others. */
  async run(): Promise<void> {
    const nowMs = this.#now();
    const dayAgo = new Date(nowMs - dayMs);
    const parts = {
      'partitions ahead': () => makePartitionsAhead(this.#database, nowMs),
      retention: () => this.#dropOld(nowMs),
      'keys of events': () => deleteEventKeys(this.#database, dayAgo),
      'keys of requests': () => deleteRequestKeys(this.#database, dayAgo),
    };
    for (const [part, work] of Object.entries(parts)) {
      try {
        await work();
      } catch (error) {
        this.#logger.warn({ part, reason: (error as Error).message }, 'maintenance will be tried again');
      }
    }
  }

  async #dropOld(nowMs: number): Promise<void> {
    const dropped = await dropPartitions(this.#database, new Date(oldestReadableMs(nowMs)));
    if (dropped.length > 0) this.#logger.info({ partitions: dropped }, 'dropped what is older than 90 days');
  }

  async stop(): Promise<void> {
    await this.#repeating?.stop();
  }
}
