import { type Database, isUnreachable } from '../storage/database.js';
import {
  isKeyed,
  type NewBatch,
  type RecordedBatch,
  type RecordedEvent,
  recordBatch,
} from '../storage/recording.js';
import type { Room } from '../storage/room.js';

interface Waiting {
  batch: NewBatch;
  characters: number;
  /** It brings an idempotency key, which another transaction may hold until it ends. */
  keyed: boolean;
  sinceMs: number;
  resolve: (recorded: readonly RecordedEvent[]) => void;
  reject: (error: unknown) => void;
}

const transactionsMax = 2;
/** A further transaction goes beside the first with at least so many events, or where one has waited so long. */
const besideMin = 250;
const besideMs = 25;
/** Requests with keys go alone, and beside the others: nobody has to wait for somebody else's key. */
const keyedMax = 4;
const eventsMax = 1_000;
const charactersMax = 16 * 1024 * 1024;
/** Whoever waits longer behind a database that is lost could not be told so within 5 s. */
const waitMsMax = 2_000;

/**
 * Group commit: what arrives while a transaction is on its way goes into the next one together. A lone
 * request is not delayed; under load hundreds of requests share one commit.
 */
export class Recorder {
  readonly #database: Database;
  readonly #room: () => Room;
  readonly #onRecorded: (batch: RecordedBatch) => void;
  readonly #lines = { grouped: new Line(transactionsMax, besideMin), keyed: new Line(keyedMax, 0) };

  constructor(database: Database, room: () => Room, onRecorded: (batch: RecordedBatch) => void) {
    this.#database = database;
    this.#room = room;
    this.#onRecorded = onRecorded;
  }

  record(batch: NewBatch): Promise<readonly RecordedEvent[]> {
    const keyed = isKeyed(batch);
    const characters = batch.payloads.reduce((sum, { length }) => sum + length, 0);
    return new Promise((resolve, reject) => {
      const line = keyed ? this.#lines.keyed : this.#lines.grouped;
      line.waiting.push({ batch, characters, keyed, sinceMs: performance.now(), resolve, reject });
      this.#run(line);
    });
  }

  #run(line: Line): void {
    while (line.mayStart) {
      line.running += 1;
      void this.#commit(line.takeGroup(), line).finally(() => {
        line.running -= 1;
        this.#run(line);
      });
    }
    if (line.waiting.length === 0 || line.running >= line.transactionsMax) return;
    // Whatever holds the first one up, nobody waits behind it for long.
    line.patience ??= setTimeout(() => {
      line.patience = undefined;
      this.#run(line);
    }, besideMs);
  }

  async #commit(group: Waiting[], line: Line): Promise<void> {
    try {
      const batch = await recordBatch(this.#database, together(group), this.#room());
      this.#onRecorded(batch);
      let from = 0;
      for (const { batch: own, resolve } of group) {
        const to = from + own.events.length;
        resolve(batch.events.slice(from, to));
        from = to;
      }
    } catch (error) {
      // One request that PostgreSQL refuses must not take the others down with it.
      if (group.length > 1 && isRefused(error)) {
        for (const waiting of group) await this.#commit([waiting], line);
      } else {
        // A fault of ours, behind the commit: what is leased to us would wait for us until we end.
        if (!isRefused(error) && !isUnreachable(error)) this.#database.onLeaseInDoubt();
        const refused = isUnreachable(error) ? [...group, ...line.takeLate()] : group;
        for (const { reject } of refused) reject(error);
      }
    }
  }
}

/** By the database, so nothing came of it. */
function isRefused(error: unknown): boolean {
  return !isUnreachable(error) && /^[0-9A-Z]{5}$/.test((error as { code?: string }).code ?? '');
}

function together(group: readonly Waiting[]): NewBatch {
  if (group.length === 1) return group[0]!.batch;
  return {
    events: group.flatMap(({ batch }) => batch.events),
    payloads: group.flatMap(({ batch }) => batch.payloads),
  };
}

/** Requests that wait to be committed, and how many transactions may be at it. */
class Line {
  readonly transactionsMax: number;
  readonly #besideMin: number;
  readonly waiting: Waiting[] = [];
  running = 0;
  patience: NodeJS.Timeout | undefined;

  constructor(transactionsMax: number, besideMin: number) {
    this.transactionsMax = transactionsMax;
    this.#besideMin = besideMin;
  }

  /** Few events go together with those that come next: a transaction for each handful costs all of them more. */
  get mayStart(): boolean {
    const [first] = this.waiting;
    if (!first || this.running >= this.transactionsMax) return false;
    if (this.running === 0 || performance.now() - first.sinceMs >= besideMs - 1) return true;
    let events = 0;
    for (const { batch } of this.waiting) events += batch.events.length;
    return events >= this.#besideMin;
  }

  takeGroup(): Waiting[] {
    let [events, characters, size] = [0, 0, 0];
    for (const waiting of this.waiting) {
      const { length } = waiting.batch.events;
      const full =
        waiting.keyed || events + length > eventsMax || characters + waiting.characters > charactersMax;
      if (size > 0 && full) break;
      events += length;
      characters += waiting.characters;
      size += 1;
    }
    return this.waiting.splice(0, size);
  }

  takeLate(): Waiting[] {
    const onTime = this.waiting.findIndex(({ sinceMs }) => performance.now() - sinceMs < waitMsMax);
    return this.waiting.splice(0, onTime < 0 ? this.waiting.length : onTime);
  }
}
