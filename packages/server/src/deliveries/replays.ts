import type { Logger } from 'pino';
import type { Database } from '../postgres/database.js';
import { Repeating } from '../signals/timers.js';
import { advanceReplay, nextReplay } from './replay-store.js';

const everyMs = 500;
const defaultPage = 500;
/**
 * The longest pause of a replay that cannot advance. The first pause lasts `everyMs`, and each one after that is twice
 * as long.
 */
const pauseMsMax = 10_000;

/** Advances the running replays, which take turns, one page at a time. */
export class Replays {
  readonly #database: Database;
  readonly #repeating: Repeating;
  /** The page size of a replay, if it differs from the usual one. */
  readonly #pages = new Map<string, number>();
  /** The replays that cannot advance now. They pause, so that they neither delay the others nor load the database. */
  readonly #pauses = new Map<string, { lastsMs: number; endsAtMs: number }>();
  #stopping = false;

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#repeating = new Repeating(everyMs, () => this.#run(), logger);
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const paused = this.#paused();
      const replay = await nextReplay(this.#database, paused);
      if (!replay) {
        // Other nodes may have finished some of these replays.
        this.#pages.clear();
        for (const id of this.#pauses.keys()) if (!paused.includes(id)) this.#pauses.delete(id);
        return;
      }
      const page = this.#pages.get(replay.id) ?? defaultPage;
      // If the page turns out to be too large because of large events, the next turn uses a smaller one.
      this.#pages.set(replay.id, Math.max(1, Math.floor(page / 4)));
      const advanced = await this.#database.transaction((client) => advanceReplay(client, replay, page));
      // Grow slowly, because the work on a page that is too large is wasted.
      if (advanced?.status === 'running')
        this.#pages.set(replay.id, Math.min(defaultPage, Math.ceil(page * 1.1)));
      else this.#pages.delete(replay.id);
      if (!advanced || advanced.at_horizon) this.#pause(replay.id);
      else this.#pauses.delete(replay.id);
    }
  }

  #pause(id: string): void {
    const lastsMs = Math.min(2 * (this.#pauses.get(id)?.lastsMs ?? everyMs / 2), pauseMsMax);
    this.#pauses.set(id, { lastsMs, endsAtMs: performance.now() + lastsMs });
  }

  /** Returns the replays whose pause has not ended. */
  #paused(): readonly string[] {
    const nowMs = performance.now();
    return [...this.#pauses].flatMap(([id, { endsAtMs }]) => (endsAtMs > nowMs ? [id] : []));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#repeating.stop();
  }
}
