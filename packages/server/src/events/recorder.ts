import type { Database } from '../postgres/database.js';
import * as errors from '../postgres/database-errors.js';
import { Semaphore } from '../signals/semaphore.js';
import { type Problem, unavailable } from '../values/problem.js';
import { type Queued, RecordingQueue, secondMs } from './recording-queue.js';
import * as recordings from './recording-store.js';

export interface RecorderOptions {
  database: Database;
  /** Returns the room of this node for the deliveries of a recording. */
  room: () => recordings.Room;
  /** Called with the recorded batch after the commit. */
  onRecorded: (batch: recordings.RecordedBatch) => void;
}

interface Waiting extends Queued {
  batch: recordings.NewBatch;
  resolve: (recorded: readonly recordings.RecordedEvent[]) => void;
  reject: (error: unknown) => void;
}

/** Memory that is reserved for the body of a request. */
export interface Reservation {
  /** Reserves memory for more characters. Throws a problem if too little is left. */
  grow: (characters: number) => void;
  /** Releases everything. Further calls have no effect. */
  release: () => void;
}

/**
 * Requests with keys have their own transactions, so that no request waits for another request's key. One organization
 * cannot take all of them: if other transactions hold its keys, requests of other organizations continue.
 */
const keyedMax = 6;
const keyedEachMax = 4;
/**
 * The memory for all requests that are not recorded yet, reserved before their body is read. It is enough for
 * 3,500 requests with one event each, which is more than can be recorded before they time out, or for one body of
 * 8 MiB.
 */
const heldBytesMax = 32 * 1024 * 1024;
/**
 * The memory that is needed for a request with its response, for an event, and for a character of a payload. A payload
 * is in memory twice: in the body and in the statement.
 */
const bytesPerRequest = 8_000;
const bytesPerEvent = 500;
const bytesPerCharacter = 2;
/**
 * A request that has waited this long is refused when a transaction cannot reach the database or times out. Otherwise,
 * there would be no time left to respond within 5 s.
 */
const waitMsMax = 2_000;

/**
 * Commits in groups: requests that arrive during a transaction share the next one. A single request is not delayed;
 * under load, hundreds of requests share one commit.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #keyed = new Semaphore(keyedMax, keyedEachMax);
  /** Requests without keys that wait for a transaction. */
  readonly #waiting = new RecordingQueue<Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #heldBytes = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /**
   * Reserves memory for a request whose body, of this many characters, has not been read yet. Throws a problem if too
   * little is left.
   */
  reserve(characters: number): Reservation {
    let bytes = bytesPerRequest + bytesPerCharacter * characters;
    this.#hold(bytes);
    let isHeld = true;
    return {
      grow: (more) => {
        if (!isHeld) return;
        this.#hold(bytesPerCharacter * more);
        bytes += bytesPerCharacter * more;
      },
      release: () => {
        if (isHeld) this.#heldBytes -= bytes;
        isHeld = false;
      },
    };
  }

  /** Adds to the memory held, or throws a problem if that would exceed the limit. A single request always fits. */
  #hold(bytes: number): void {
    if (this.#heldBytes > 0 && this.#heldBytes + bytes > heldBytesMax) {
      throw unavailable(
        'Too many events are waiting to be recorded on this node. Nothing was recorded. Try again.',
      );
    }
    this.#heldBytes += bytes;
  }

  async record(batch: recordings.NewBatch): Promise<readonly recordings.RecordedEvent[]> {
    const characters = batch.payloads.reduce((sum, { length }) => sum + length, 0);
    const bytes = bytesPerRequest + bytesPerEvent * batch.events.length + bytesPerCharacter * characters;
    this.#hold(bytes);
    try {
      return await new Promise((resolve, reject) => {
        if (recordings.isKeyed(batch)) {
          const start = (release: () => void) =>
            void this.#recordKeyed(batch).then(resolve, reject).finally(release);
          this.#keyed.take(organizationOf(batch), start, reject);
        } else {
          const [organizationId, events] = [organizationOf(batch), batch.events.length];
          const sinceMs = performance.now();
          this.#waiting.add({ batch, organizationId, events, characters, sinceMs, resolve, reject });
          this.#run();
        }
      });
    } finally {
      this.#heldBytes -= bytes;
    }
  }

  async #recordKeyed(batch: recordings.NewBatch): Promise<readonly recordings.RecordedEvent[]> {
    try {
      return await this.#commit(batch);
    } catch (error) {
      const isHeld = errors.isLockTimeout(error) || errors.isCanceled(error);
      if (isHeld) this.#keyed.rejectWaiting(tooManyHeld(), waitMsMax, organizationOf(batch));
      else if (errors.isUnreachable(error) || errors.isTooSlow(error))
        this.#keyed.rejectWaiting(error, waitMsMax);
      throw error;
    }
  }

  #run(): void {
    for (;;) {
      const group = this.#waiting.take(performance.now());
      if (!group) break;
      void this.#commitGroup(group.requests).finally(() => {
        const restMs = this.#waiting.ended(group, performance.now());
        if (restMs > 0) setTimeout(() => this.#run(), restMs);
        this.#run();
      });
    }
    if (this.#waiting.isEmpty) return;
    // Even if the first transaction is delayed, the waiting requests do not wait long.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#run();
    }, secondMs);
  }

  async #commit(batch: recordings.NewBatch): Promise<readonly recordings.RecordedEvent[]> {
    const { database, room, onRecorded } = this.#options;
    try {
      const recorded = await recordings.recordBatch(database, batch, room());
      onRecorded(recorded);
      return recorded.events;
    } catch (error) {
      // If the database neither refused the batch nor was unreachable, the error is a bug after the commit. Then,
      // deliveries may be leased to this node without its knowledge, and would wait until the process ends.
      if (!isRefused(error) && !errors.isUnreachable(error)) database.onLeaseInDoubt();
      throw error;
    }
  }

  async #commitGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const events = await this.#commit(together(group));
      let from = 0;
      for (const { batch, resolve } of group) {
        const to = from + batch.events.length;
        resolve(events.slice(from, to));
        from = to;
      }
    } catch (error) {
      const away = errors.refusalOf(error)?.organizationId;
      const refused = group.filter((waiting) => hasEventsOf(waiting, away));
      // A request that PostgreSQL refuses must not fail the others. If the error names an organization, the others need
      // one more commit. Otherwise, halving the batch finds the request in a few more. After a timeout, it is not
      // halved, because each half would wait for the same lock again.
      if (refused.length > 0) {
        for (const { reject } of refused) reject(error);
        const others = group.filter((waiting) => !hasEventsOf(waiting, away));
        if (others.length > 0) await this.#commitGroup(others);
      } else if (group.length > 1 && isRefused(error) && !errors.isTooSlow(error)) {
        const half = Math.ceil(group.length / 2);
        await this.#commitGroup(group.slice(0, half));
        await this.#commitGroup(group.slice(half));
      } else {
        const late =
          errors.isUnreachable(error) || errors.isTooSlow(error)
            ? this.#waiting.takeLate(waitMsMax, performance.now())
            : [];
        for (const { reject } of [...group, ...late]) reject(error);
      }
    }
  }
}

/** Returns whether the database refused the statement, so that nothing was written. */
function isRefused(error: unknown): boolean {
  return !errors.isUnreachable(error) && /^[0-9A-Z]{5}$/.test((error as { code?: string }).code ?? '');
}

function tooManyHeld(): Problem {
  return unavailable(
    'Too many requests are waiting for idempotency keys that other transactions hold. Nothing was recorded. Try again.',
  );
}

function together(group: readonly Waiting[]): recordings.NewBatch {
  if (group.length === 1) return group[0]!.batch;
  return {
    events: group.flatMap(({ batch }) => batch.events),
    payloads: group.flatMap(({ batch }) => batch.payloads),
  };
}

function organizationOf({ events }: recordings.NewBatch): string {
  return events[0]?.organization_id ?? '';
}

function hasEventsOf({ batch }: Waiting, organizationId: string | undefined): boolean {
  return batch.events.some(({ organization_id }) => organization_id === organizationId);
}
