import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedBatch, Room } from '../events/recording-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { isCanceled, isLockTimeout, isUnreachable } from '../postgres/database-errors.js';
import { Semaphore } from '../signals/semaphore.js';
import { Problem } from '../values/problem.js';
import type { MoveContext, MoveOutcome } from './moves.js';
import { limitLockWaits } from './resource-store.js';

export interface MoverOptions {
  database: Database;
  room: () => Room;
  /** Called with the recorded batch after the commit. */
  onRecorded: (batch: RecordedBatch) => void;
}

/**
 * More transactions would take connections that recording and delivering need, and transactions of one organization
 * wait for each other anyway. One organization cannot take all of them: if other transactions lock its resources, moves
 * in other organizations continue.
 */
const transactionsMax = 4;
const eachMax = 2;
/**
 * A request that has waited this long is refused when a transaction cannot reach the database or times out. Otherwise,
 * there would be no time left to respond within 5 s.
 */
const waitMsMax = 2_000;
/** PostgreSQL ends one of two deadlocked transactions. It is rolled back, so it can be retried. */
const deadlockDetected = '40P01';
const triesMax = 3;
/** Lets the other transaction get its lock first. Otherwise, the two would deadlock again. */
const retryMs = 50;

/** Runs creations and moves, each in its own transaction, a few at a time. */
export class Mover {
  readonly #options: MoverOptions;
  readonly #semaphore = new Semaphore(transactionsMax, eachMax);

  constructor(options: MoverOptions) {
    this.#options = options;
  }

  /** Runs `work` in a transaction for this organization and hands over the recorded batch after the commit. */
  async run<Outcome extends MoveOutcome>(
    organizationId: string,
    origin: Omit<MoveContext, 'room'>,
    work: (client: Queryable, context: MoveContext) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { database, room, onRecorded } = this.#options;
    const transact = () =>
      database.transaction(async (client) => {
        await limitLockWaits(client);
        return work(client, { ...origin, room: room() });
      });
    const outcome = await this.#semaphore.run(organizationId, () => this.#repeated(organizationId, transact));
    if (outcome.outcome === 'done' && outcome.recorded) onRecorded(outcome.recorded.batch);
    return outcome;
  }

  async #repeated<T>(organizationId: string, transact: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await transact();
      } catch (error) {
        if (isUnreachable(error)) this.#semaphore.rejectWaiting(error, waitMsMax);
        if (isLockTimeout(error) || isCanceled(error))
          this.#semaphore.rejectWaiting(error, waitMsMax, organizationId);
        const isDeadlock = (error as { code?: string }).code === deadlockDetected;
        if (!isDeadlock) throw error;
        if (tries === triesMax) throw deadlocked();
        await delay(retryMs * tries);
      }
    }
  }
}

function deadlocked(): Problem {
  return new Problem(
    'unavailable',
    'Other transactions keep locking the same resources in a different order. Nothing was changed. Try again.',
    { headers: { 'Retry-After': '1' } },
  );
}
