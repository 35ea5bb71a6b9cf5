import type { Database } from '../postgres/database.js';
import {
  isCanceled,
  isLockTimeout,
  isTooSlow,
  isUnreachable,
  refusalOf,
} from '../postgres/database-errors.js';
import { Problem } from '../values/problem.js';
import {
  isKeyed,
  type NewBatch,
  type RecordedBatch,
  type RecordedEvent,
  type Room,
  recordBatch,
} from './recording-store.js';

interface Waiting {
  batch: NewBatch;
  characters: number;
  bytes: number;
  /** Whether an event of the batch has an idempotency key. An open transaction may hold that key. */
  keyed: boolean;
  sinceMs: number;
  resolve: (recorded: readonly RecordedEvent[]) => void;
  reject: (error: unknown) => void;
}

/** Memory that is reserved for the body of a request. */
export interface Reservation {
  /** Reserves memory for more characters. Throws a problem if too little is left. */
  grow: (characters: number) => void;
  /** Releases everything. Further calls have no effect. */
  release: () => void;
}

const transactionsMax = 2;
/** A second transaction starts if at least this many events are waiting, or if one has waited this long. */
const secondBatchMin = 250;
const secondBatchMs = 25;
/**
 * Requests with keys have their own transactions, so that no request waits for another request's key. One organization
 * cannot take all of them: if other transactions hold its keys, requests of other organizations continue.
 */
const keyedMax = 6;
const keyedEachMax = 4;
const eventsMax = 1_000;
const charactersMax = 16 * 1024 * 1024;
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
  readonly #database: Database;
  readonly #room: () => Room;
  readonly #onRecorded: (batch: RecordedBatch) => void;
  readonly #queues = {
    grouped: new RequestQueue(transactionsMax, secondBatchMin),
    keyed: new RequestQueue(keyedMax, 0, keyedEachMax),
  };
  #heldBytes = 0;

  constructor(database: Database, room: () => Room, onRecorded: (batch: RecordedBatch) => void) {
    this.#database = database;
    this.#room = room;
    this.#onRecorded = onRecorded;
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
      throw new Problem(
        'unavailable',
        'Too many events are waiting to be recorded on this node. Nothing was recorded. Try again.',
        { headers: { 'Retry-After': '1' } },
      );
    }
    this.#heldBytes += bytes;
  }

  async record(batch: NewBatch): Promise<readonly RecordedEvent[]> {
    const keyed = isKeyed(batch);
    const characters = batch.payloads.reduce((sum, { length }) => sum + length, 0);
    const bytes = bytesPerRequest + bytesPerEvent * batch.events.length + bytesPerCharacter * characters;
    this.#hold(bytes);
    return new Promise((resolve, reject) => {
      const queue = keyed ? this.#queues.keyed : this.#queues.grouped;
      queue.add({ batch, characters, bytes, keyed, sinceMs: performance.now(), resolve, reject });
      this.#run(queue);
    });
  }

  #run(queue: RequestQueue): void {
    while (queue.mayStart) {
      const group = queue.start();
      void this.#commit(group, queue).finally(() => {
        queue.ended(group);
        this.#run(queue);
      });
    }
    if (!queue.mayStartLater) return;
    // Even if the first transaction is delayed, the waiting requests do not wait long.
    queue.timer ??= setTimeout(() => {
      queue.timer = undefined;
      this.#run(queue);
    }, secondBatchMs);
  }

  async #commit(group: Waiting[], queue: RequestQueue): Promise<void> {
    try {
      const batch = await recordBatch(this.#database, together(group), this.#room());
      this.#onRecorded(batch);
      this.#release(group);
      let from = 0;
      for (const { batch: own, resolve } of group) {
        const to = from + own.events.length;
        resolve(batch.events.slice(from, to));
        from = to;
      }
    } catch (error) {
      const away = refusalOf(error)?.organizationId;
      const refused = group.filter((waiting) => hasEventsOf(waiting, away));
      // A request that PostgreSQL refuses must not fail the others. If the error names an organization, the others need
      // one more commit. Otherwise, halving the batch finds the request in a few more. After a timeout, it is not
      // halved, because each half would wait for the same lock again.
      if (refused.length > 0) {
        this.#reject(refused, error);
        const others = group.filter((waiting) => !hasEventsOf(waiting, away));
        if (others.length > 0) await this.#commit(others, queue);
      } else if (group.length > 1 && isRefused(error) && !isTooSlow(error)) {
        const half = Math.ceil(group.length / 2);
        await this.#commit(group.slice(0, half), queue);
        await this.#commit(group.slice(half), queue);
      } else {
        // If the database neither refused the batch nor was unreachable, the error is a bug after the commit. Then,
        // deliveries may be leased to this node without its knowledge, and would wait until the process ends.
        if (!isRefused(error) && !isUnreachable(error)) this.#database.onLeaseInDoubt();
        const [first] = group;
        const isHeld = first?.keyed && (isLockTimeout(error) || isCanceled(error));
        const isLong = isUnreachable(error) || isTooSlow(error);
        const late = isLong ? queue.takeLate(isHeld ? organizationOf(first) : undefined) : [];
        this.#reject(group, error);
        this.#reject(late, isHeld ? tooManyHeld() : error);
      }
    }
  }

  #reject(group: readonly Waiting[], error: unknown): void {
    this.#release(group);
    for (const { reject } of group) reject(error);
  }

  #release(group: readonly Waiting[]): void {
    for (const { bytes } of group) this.#heldBytes -= bytes;
  }
}

/** Returns whether the database refused the statement, so that nothing was written. */
function isRefused(error: unknown): boolean {
  return !isUnreachable(error) && /^[0-9A-Z]{5}$/.test((error as { code?: string }).code ?? '');
}

function tooManyHeld(): Problem {
  return new Problem(
    'unavailable',
    'Too many requests are waiting for idempotency keys that other transactions hold. Nothing was recorded. Try again.',
    { headers: { 'Retry-After': '1' } },
  );
}

function together(group: readonly Waiting[]): NewBatch {
  if (group.length === 1) return group[0]!.batch;
  return {
    events: group.flatMap(({ batch }) => batch.events),
    payloads: group.flatMap(({ batch }) => batch.payloads),
  };
}

/** Requests that are waiting to be committed, and how many transactions may run for them. */
class RequestQueue {
  readonly #transactionsMax: number;
  readonly #secondBatchMin: number;
  readonly #eachMax: number;
  #waiting: Waiting[] = [];
  readonly #runningOf = new Map<string, number>();
  #events = 0;
  #running = 0;
  timer: NodeJS.Timeout | undefined;

  /** `eachMax`: how many transactions may run for requests of the same organization. */
  constructor(transactionsMax: number, secondBatchMin: number, eachMax = transactionsMax) {
    this.#transactionsMax = transactionsMax;
    this.#secondBatchMin = secondBatchMin;
    this.#eachMax = eachMax;
  }

  /** Returns the index of the first request that may start, or -1 if there is none. */
  get #first(): number {
    if (this.#running >= this.#transactionsMax) return -1;
    return this.#waiting.findIndex((waiting) => this.#runningFor(waiting) < this.#eachMax);
  }

  #runningFor(waiting: Waiting): number {
    return this.#runningOf.get(organizationOf(waiting)) ?? 0;
  }

  /**
   * Returns whether to start a transaction. A few events wait for more, because many small transactions cost more in
   * total.
   */
  get mayStart(): boolean {
    const first = this.#waiting[this.#first];
    if (!first) return false;
    if (this.#running === 0 || performance.now() - first.sinceMs >= secondBatchMs - 1) return true;
    return this.#events >= this.#secondBatchMin;
  }

  /** Returns whether a transaction may start after a while, even if none ends. */
  get mayStartLater(): boolean {
    return this.#first >= 0;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#events += waiting.batch.events.length;
  }

  /** Takes the requests of the next transaction. */
  start(): Waiting[] {
    const group = this.#takeGroup();
    this.#count(group, 1);
    return group;
  }

  ended(group: readonly Waiting[]): void {
    this.#count(group, -1);
  }

  /** Counts a transaction for the organization of its first request. A transaction with keys has only one request. */
  #count([first]: readonly Waiting[], change: 1 | -1): void {
    this.#running += change;
    const running = this.#runningFor(first!) + change;
    if (running > 0) this.#runningOf.set(organizationOf(first!), running);
    else this.#runningOf.delete(organizationOf(first!));
  }

  #takeGroup(): Waiting[] {
    const from = this.#first;
    let [events, characters, size] = [0, 0, 0];
    for (const waiting of this.#waiting.slice(from, from + eventsMax)) {
      const { length } = waiting.batch.events;
      const full =
        waiting.keyed || events + length > eventsMax || characters + waiting.characters > charactersMax;
      if (size > 0 && full) break;
      events += length;
      characters += waiting.characters;
      size += 1;
    }
    return this.#take(size, from);
  }

  /** Takes the requests that have waited too long, of one organization or of all. */
  takeLate(organizationId?: string): Waiting[] {
    const nowMs = performance.now();
    const isLate = (waiting: Waiting) =>
      nowMs - waiting.sinceMs >= waitMsMax &&
      (organizationId === undefined || organizationOf(waiting) === organizationId);
    const late = this.#waiting.filter(isLate);
    this.#waiting = this.#waiting.filter((waiting) => !isLate(waiting));
    for (const { batch } of late) this.#events -= batch.events.length;
    return late;
  }

  #take(size: number, from: number): Waiting[] {
    const taken = this.#waiting.splice(from, size);
    for (const { batch } of taken) this.#events -= batch.events.length;
    return taken;
  }
}

function organizationOf({ batch }: Waiting): string {
  return batch.events[0]?.organization_id ?? '';
}

function hasEventsOf({ batch }: Waiting, organizationId: string | undefined): boolean {
  return batch.events.some(({ organization_id }) => organization_id === organizationId);
}
