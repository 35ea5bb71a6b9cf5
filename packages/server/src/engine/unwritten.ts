import type { ServiceEvent } from '../webhooks/webhook.js';
import type { WebhookKey } from '../webhooks/webhook-store.js';
import type { Settlement } from './settlement-store.js';

/** A settlement to write, and what to do in the same transaction. */
export interface Entry {
  /** The ID under which this node leased the delivery. */
  node: number;
  settlement: Settlement;
  /** Whether the delivery is given back before its turn, because this node has no room for it or is stopping. */
  isSurplus?: boolean;
  /** The event to record, unless the settlement was written before or this node was declared dead. */
  event?: ServiceEvent;
  /** The webhook to disable, because its receiver responded with 410. */
  gone?: WebhookKey & { givenUrl: string };
  /** How many times the database has refused a batch with this entry. */
  refusals?: number;
  /** Whether the entry had to wait because another transaction had locked its webhook. */
  wasLocked?: boolean;
}

/** The entries that a node has not written yet. */
export class Unwritten {
  #entries: Entry[] = [];
  /**
   * Surplus deliveries, which get only the space that outcomes leave in a batch. Outcomes come first, because an
   * attempt is repeated if its outcome is lost.
   */
  #surplus: Entry[] = [];
  /** Entries whose webhooks another transaction has locked. They wait separately, so as not to delay others. */
  #locked: Entry[] = [];

  /** Returns the number of entries, including those that wait for a lock. */
  get size(): number {
    return this.waiting + this.#locked.length;
  }

  /** Returns the number of entries that could be written now. */
  get waiting(): number {
    return this.#entries.length + this.#surplus.length;
  }

  /** Adds an entry. Returns how many are now in the same queue. */
  add(entry: Entry): number {
    return (entry.isSurplus ? this.#surplus : this.#entries).push(entry);
  }

  /**
   * Takes the next batch, of at most `most` entries with the same node ID. An entry that disables a webhook or was
   * refused twice gets a batch of its own.
   */
  take(most: number): Entry[] {
    const first = this.#entries[0] ?? this.#surplus[0];
    if (!first) return [];
    if (isAlone(first)) return this.#entries.splice(0, 1);
    const batch: Entry[] = [];
    const takeFrom = (queue: readonly Entry[]) =>
      queue.filter((entry) => {
        const isTaken = batch.length < most && entry.node === first.node && !isAlone(entry);
        if (isTaken) batch.push(entry);
        return !isTaken;
      });
    this.#entries = takeFrom(this.#entries);
    this.#surplus = takeFrom(this.#surplus);
    return batch;
  }

  /**
   * Puts a batch that could not be written at the front of the queue again. If the database refused the batch
   * (`isRefused`), a single entry may be the cause. So after two refusals, each entry is written alone. After the
   * third, it goes to the back. If the database itself had a problem, such as a full disk, the batch stays together.
   */
  putBack(batch: readonly Entry[], isRefused: boolean): void {
    if (isRefused) for (const entry of batch) entry.refusals = (entry.refusals ?? 0) + 1;
    if ((batch[0]?.refusals ?? 0) > 2) this.#entries.push(...batch);
    else this.#entries.unshift(...batch);
  }

  /**
   * Puts a batch back that failed because webhooks are locked. Sets apart its entries that need a lock, and all others
   * that do: each later batch with one of them would fail and delay the outcomes of other webhooks. Returns what was
   * set apart.
   */
  setApart(batch: readonly Entry[], needsLock: (entry: Entry) => boolean): readonly Entry[] {
    const entries = [...batch, ...this.#entries];
    const apart = [...entries, ...this.#surplus].filter(needsLock);
    this.#entries = entries.filter((entry) => !needsLock(entry));
    this.#surplus = this.#surplus.filter((entry) => !needsLock(entry));
    this.#locked.push(...apart);
    return apart;
  }

  /** Returns the entries that wait for a lock to the queue, so that the next batches try to write them. */
  retryLocked(): void {
    this.#entries.push(...this.#locked.splice(0));
  }

  /** Removes and returns the surplus deliveries. */
  dropSurplus(): readonly Entry[] {
    return this.#surplus.splice(0);
  }
}

/** Returns whether an entry gets a batch of its own. */
function isAlone({ gone, refusals = 0 }: Entry): boolean {
  return gone !== undefined || refusals > 1;
}
