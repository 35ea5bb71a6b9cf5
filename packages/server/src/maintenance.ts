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
    // Nothing of it is needed at once; another node may be at it right now.
    await this.run().catch((error) =>
      this.#logger.warn({ reason: error.message }, 'maintenance will be tried again'),
    );
    this.#repeating = new Repeating(everyMs, () => this.run(), this.#logger);
  }

  async run(): Promise<void> {
    const nowMs = this.#now();
    await makePartitionsAhead(this.#database, nowMs);
    const dropped = await dropPartitions(this.#database, new Date(oldestReadableMs(nowMs)));
    if (dropped.length > 0) this.#logger.info({ partitions: dropped }, 'dropped what is older than 90 days');
    await deleteEventKeys(this.#database, new Date(nowMs - dayMs));
    await deleteRequestKeys(this.#database, new Date(nowMs - dayMs));
  }

  async stop(): Promise<void> {
    await this.#repeating?.stop();
  }
}
