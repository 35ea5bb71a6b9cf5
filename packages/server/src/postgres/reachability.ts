import type { Logger } from 'pino';
import { reasonOf } from './database-errors.js';

/** How often a read-only database is asked whether it accepts writes again. */
const askEveryMs = 1_000;
/** How often a full disk is reported. Reads still succeed, so there is no sign of when there is space again. */
const fullEveryMs = 60_000;

/** Logs once when the database is lost and once when it is back, even if many statements fail. */
export class Reachability {
  readonly #logger: Logger;
  readonly #now: () => number;
  #lostAtMs: number | undefined;
  #refusedAtMs: number | undefined;
  #writableAtMs = Number.NEGATIVE_INFINITY;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #fullAtMs = Number.NEGATIVE_INFINITY;

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

  /**
   * Notes that the database refused to write. From then on, the database counts as lost until a check shows that it
   * accepts writes. A statement that succeeds does not prove this. Ignores a refusal in a session that was opened
   * before the database last became writable, because a session keeps its settings.
   */
  refusedWrite(error: Error, openedAtMs: number): void {
    if (this.#refusedAtMs !== undefined || openedAtMs <= this.#writableAtMs) return;
    this.#refusedAtMs = this.#now();
    this.#lostAtMs ??= this.#refusedAtMs;
    this.#logger.error(
      { reason: reasonOf(error) },
      'the database is read-only; requests that write get 503, and deliveries wait until it accepts writes: ' +
        'free up space if its disk is full, or set DATABASE_URL to the primary if it is a standby',
    );
  }

  /** Notes that a statement failed because the database has no disk space left. */
  ranOutOfSpace(error: Error): void {
    if (this.#now() - this.#fullAtMs < fullEveryMs) return;
    this.#fullAtMs = this.#now();
    this.#logger.error(
      { reason: reasonOf(error) },
      'the database has no disk space left; requests that need more get 503, and deliveries may wait: ' +
        'free up space on its disk',
    );
  }

  /**
   * Returns whether a session was opened before the database refused to write, so that it may still have the settings
   * of that time.
   */
  isOutdated(openedAtMs: number): boolean {
    return this.#refusedAtMs !== undefined && openedAtMs <= this.#refusedAtMs;
  }

  /**
   * Returns whether it is time to ask a read-only database whether it accepts writes again. If so, notes the time, so
   * that no other caller asks soon afterwards.
   */
  takeTurnToAsk(): boolean {
    if (this.#refusedAtMs === undefined || this.#now() - this.#askedAtMs < askEveryMs) return false;
    this.#askedAtMs = this.#now();
    return true;
  }

  /** Notes that a statement succeeded. `isWritable` means that the database was asked and accepts writes. */
  regained(isWritable = false): void {
    const isReadOnly = this.#refusedAtMs !== undefined;
    if (this.#lostAtMs === undefined || (isReadOnly && !isWritable)) return;
    const seconds = Math.round((this.#now() - this.#lostAtMs) / 100) / 10;
    const state = isReadOnly ? 'writable' : 'reachable';
    if (isReadOnly) this.#writableAtMs = this.#now();
    this.#lostAtMs = undefined;
    this.#refusedAtMs = undefined;
    this.#logger.warn({ seconds }, `the database is ${state} again`);
  }
}
