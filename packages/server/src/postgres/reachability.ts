import type { Logger } from 'pino';
import { reasonOf } from './database-errors.js';

/** How often a refusal is logged. Reads still succeed, so nothing shows when writes are accepted again. */
const refusalEveryMs = 60_000;

/** Logs once when the database is lost and once when it is back, even if many statements fail. */
export class Reachability {
  readonly #logger: Logger;
  readonly #now: () => number;
  #lostAtMs: number | undefined;
  /** When each refusal was last logged. */
  readonly #refusedAtMs = new Map<string, number>();

  constructor(logger: Logger, now: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#now = now;
  }

  lost(error: Error): void {
    if (this.#lostAtMs !== undefined) return;
    this.#lostAtMs = this.#now();
    this.#logger.error(
      { reason: reasonOf(error) },
      'the database is unreachable; requests get 503 until it is back',
    );
  }

  /** Notes that the database refused a statement: it is read-only, or has no disk space left. */
  refused(error: Error, message: string): void {
    if (this.#now() - (this.#refusedAtMs.get(message) ?? Number.NEGATIVE_INFINITY) < refusalEveryMs) return;
    this.#refusedAtMs.set(message, this.#now());
    this.#logger.error({ reason: reasonOf(error) }, message);
  }

  /** Notes that a statement succeeded. */
  regained(): void {
    if (this.#lostAtMs === undefined) return;
    const seconds = Math.round((this.#now() - this.#lostAtMs) / 100) / 10;
    this.#lostAtMs = undefined;
    this.#logger.warn({ seconds }, 'the database is reachable again');
  }
}
