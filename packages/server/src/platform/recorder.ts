import { type Database, isUnreachable } from '../storage/database.js';
import { type Placement, type RecordedBatch, type RecordedEvent, recordBatch } from '../storage/events.js';

interface Waiting {
  /** The events' JSON, separated by commas, without the brackets of an array. */
  text: string;
  count: number;
  sinceMs: number;
  resolve: (recorded: readonly RecordedEvent[]) => void;
  reject: (error: unknown) => void;
}

const transactionsMax = 2;
const eventsMax = 2_000;
const charactersMax = 16 * 1024 * 1024;
/** Whoever waits longer behind a database that is lost could not be told so within 5 s. */
const waitMsMax = 2_000;

/**
 * Group commit: what arrives while a transaction is on its way goes into the next one together. A lone
 * request is not delayed; under load hundreds of requests share one commit.
 */
export class Recorder {
  readonly #database: Database;
  readonly #placement: () => Placement;
  readonly #onRecorded: (batch: RecordedBatch) => void;
  #queue: Waiting[] = [];
  #running = 0;

  constructor(database: Database, placement: () => Placement, onRecorded: (batch: RecordedBatch) => void) {
    this.#database = database;
    this.#placement = placement;
    this.#onRecorded = onRecorded;
  }

  record(text: string, count: number): Promise<readonly RecordedEvent[]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ text, count, sinceMs: performance.now(), resolve, reject });
      this.#run();
    });
  }

  #run(): void {
    while (this.#running < transactionsMax && this.#queue.length > 0) {
      this.#running += 1;
      const group = this.#takeGroup();
      void this.#commit(group).finally(() => {
        this.#running -= 1;
        this.#run();
      });
    }
  }

  #takeGroup(): Waiting[] {
    let [events, characters, size] = [0, 0, 0];
    for (const { count, text } of this.#queue) {
      if (size > 0 && (events + count > eventsMax || characters + text.length > charactersMax)) break;
      events += count;
      characters += text.length;
      size += 1;
    }
    return this.#queue.splice(0, size);
  }

  #takeLate(): Waiting[] {
    const onTime = this.#queue.findIndex(({ sinceMs }) => performance.now() - sinceMs < waitMsMax);
    return this.#queue.splice(0, onTime < 0 ? this.#queue.length : onTime);
  }

  async #commit(group: Waiting[]): Promise<void> {
    try {
      const text = group.map((waiting) => waiting.text).join(',');
      const batch = await recordBatch(this.#database, `[${text}]`, this.#placement());
      this.#onRecorded(batch);
      let from = 0;
      for (const { count, resolve } of group) {
        resolve(batch.events.slice(from, from + count));
        from += count;
      }
    } catch (error) {
      // One request that PostgreSQL refuses must not take the others down with it.
      if (group.length > 1 && !isUnreachable(error)) {
        for (const waiting of group) await this.#commit([waiting]);
      } else {
        const refused = isUnreachable(error) ? [...group, ...this.#takeLate()] : group;
        for (const { reject } of refused) reject(error);
      }
    }
  }
}
