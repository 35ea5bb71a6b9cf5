import type { Logger } from 'pino';
import { Repeating } from '../signals/repeating.js';
import type { Database } from '../storage/database.js';
import { advanceReplay, nextReplay } from '../storage/replays.js';

const everyMs = 500;
const defaultPage = 500;

/** Advances the running replays, which take turns, one page at a time. */
export class Replays {
  readonly #database: Database;
  readonly #repeating: Repeating;
  /** The page size of a replay, if it differs from the usual one. */
  readonly #pages = new Map<string, number>();
  #stopping = false;

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#repeating = new Repeating(everyMs, () => this.#run(), logger);
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const replay = await nextReplay(this.#database);
      if (!replay) {
        // Other nodes may have finished some of them.
        this.#pages.clear();
        return;
      }
      const page = this.#pages.get(replay.id) ?? defaultPage;
      // If the page turns out to be too large because of large events, the next turn uses a smaller one.
      this.#pages.set(replay.id, Math.max(1, Math.floor(page / 4)));
      const advanced = await this.#database.transaction((client) => advanceReplay(client, replay, page));
      // Grow slowly, because a page that is too large is lost.
      if (advanced?.status === 'running')
        this.#pages.set(replay.id, Math.min(defaultPage, Math.ceil(page * 1.1)));
      else this.#pages.delete(replay.id);
      if (!advanced) return;
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#repeating.stop();
  }
}
