import type { LeasedDelivery } from '../storage/leased-delivery.js';

/** Enough to learn whether a webhook answers; it doubles with every round that does. */
const sharesAtStart = 8;
const sharesMax = 64;
/** One that keeps failing still gets several at a time, so that its own backlog moves. */
const sharesWhenFailing = 4;
const failuresInARow = 5;
/**
 * How much of it is kept in memory: a lot for one that answers, little for one that does not. Whatever a
 * claim brings fits when it is asked for, or it would go back and forth.
 */
const queuedMax = 8_000;
/** A quarter of what there is for all: large payloads of one must not keep those of others out. */
const queuedBytesMax = 16 * 1024 * 1024;
const queuedMaxUnproven = 500;
const queuedMaxWhenFailing = 150;

/** One webhook's deliveries in this node's memory, and how many of them may be under way at once. */
export class Lane {
  readonly organizationId: string;
  readonly webhookId: string;
  readonly #queue: LeasedDelivery[] = [];
  #head = 0;
  #shares = sharesAtStart;
  #failures = 0;
  #successes = 0;
  inFlight = 0;
  queuedBytes = 0;
  #hasMore = false;
  #expectedAtMs = Number.NEGATIVE_INFINITY;

  constructor(organizationId: string, webhookId: string) {
    this.organizationId = organizationId;
    this.webhookId = webhookId;
  }

  get queued(): number {
    return this.#queue.length - this.#head;
  }

  get isFailing(): boolean {
    return this.#failures >= failuresInARow;
  }

  /** Has answered lately; others have to leave room for those that do. */
  get isProven(): boolean {
    return this.#successes > 0 && !this.isFailing;
  }

  get isSaturated(): boolean {
    return this.queued >= this.#queuedMax;
  }

  /**
   * What is recorded now is left in the database. For one that does not answer that begins sooner: the rest of
   * a large recording would only go back there, in rows.
   */
  get hasEnough(): boolean {
    const enough = this.isProven ? this.#queuedMax : this.#queuedMax / 4;
    return this.queued >= enough || this.queuedBytes >= queuedBytesMax;
  }

  /** There may be more of it in the database than in memory. */
  expectMore(): void {
    this.#hasMore = true;
    this.#expectedAtMs = performance.now();
  }

  /** A claim that began then left nothing of it in the database. */
  expectNoMore(claimedAtMs: number): void {
    if (this.#expectedAtMs < claimedAtMs) this.#hasMore = false;
  }

  get wantsMore(): boolean {
    return this.#hasMore && this.queued < this.#queuedMax / 4 && this.queuedBytes < queuedBytesMax / 4;
  }

  get #queuedMax(): number {
    if (this.isFailing) return queuedMaxWhenFailing;
    return this.isProven ? queuedMax : queuedMaxUnproven;
  }

  get canStart(): boolean {
    return this.queued > 0 && this.inFlight < (this.isFailing ? sharesWhenFailing : this.#shares);
  }

  get isIdle(): boolean {
    return this.queued === 0 && this.inFlight === 0 && !this.#hasMore;
  }

  push(delivery: LeasedDelivery): void {
    this.#queue.push(delivery);
    this.queuedBytes += bytesOf(delivery);
  }

  shift(): LeasedDelivery | undefined {
    const delivery = this.#queue[this.#head];
    if (delivery === undefined) return undefined;
    this.#head += 1;
    this.queuedBytes -= bytesOf(delivery);
    if (this.#head > 1_000 && this.#head * 2 > this.#queue.length) {
      this.#queue.splice(0, this.#head);
      this.#head = 0;
    }
    return delivery;
  }

  /** What is more than a webhook that keeps failing may have in memory; the newest of it. */
  takeExcess(): LeasedDelivery[] {
    if (!this.isFailing || this.queued <= queuedMaxWhenFailing) return [];
    const excess = this.#queue.splice(this.#head + queuedMaxWhenFailing);
    for (const delivery of excess) this.queuedBytes -= bytesOf(delivery);
    this.expectMore();
    return excess;
  }

  takeAll(): LeasedDelivery[] {
    const all = this.#queue.slice(this.#head);
    this.#queue.length = 0;
    this.#head = 0;
    this.queuedBytes = 0;
    return all;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#successes += 1;
    if (this.#successes % this.#shares === 0) this.#shares = Math.min(this.#shares * 2, sharesMax);
  }

  failed(): void {
    this.#failures += 1;
    if (this.#failures === failuresInARow) {
      this.#shares = sharesAtStart;
      this.#successes = 0;
    }
  }
}

function bytesOf(delivery: LeasedDelivery): number {
  return 300 + (delivery.payload?.length ?? 0) * 2;
}
