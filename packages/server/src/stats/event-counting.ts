import type { Logger } from 'pino';
import type { Database } from '../postgres/database.js';
import { Repeating } from '../signals/repeating.js';
import { countEvents } from './event-count-store.js';

/** Statistics show an event within a minute. Counting less often writes fewer rows. */
const everyMs = 45_000;

/** Counts new events for the statistics, including those recorded from SQL. Only one node counts at a time. */
export class EventCounting {
  readonly #database: Database;
  readonly #logger: Logger;
  #repeating: Repeating | undefined;

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  async start(): Promise<void> {
    this.#repeating = new Repeating(everyMs, () => countEvents(this.#database), this.#logger);
  }

  async stop(): Promise<void> {
    await this.#repeating?.stop();
  }
}
