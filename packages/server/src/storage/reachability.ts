import type { Logger } from 'pino';

/** Logs once when the database is lost and once when it is back, no matter how many statements fail. */
export class Reachability {
  readonly #logger: Logger;
  readonly #now: () => number;
  #lostAtMs: number | undefined;

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

  regained(): void {
    if (this.#lostAtMs === undefined) return;
    const seconds = Math.round((this.#now() - this.#lostAtMs) / 100) / 10;
    this.#lostAtMs = undefined;
    this.#logger.warn({ seconds }, 'the database is reachable again');
  }
}

/** Returns what went wrong. Node gives no message if a name has several addresses and none accepts the connection. */
function reasonOf(error: Error): string {
  return error.message || ((error as NodeJS.ErrnoException).code ?? error.name);
}
