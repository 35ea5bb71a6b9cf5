import type { LeasedDelivery } from '../storage/leased-delivery.js';
import { Backlog } from './backlog.js';
import { Fifo } from './fifo.js';

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
/** What one claim may bring of a webhook's rows, and how many of them are still here when the next may come. */
export const dueMax = 100;
const dueMin = 25;
/** Answers that take longer keep their share for so long that others would wait for it. */
const slowMs = 1_000;

/** One webhook's deliveries in this node's memory, and how many of them may be under way at once. */
export class Lane {
  readonly organizationId: string;
  readonly webhookId: string;
  readonly #new = new Fifo<LeasedDelivery>();
  /** Retries, and what else is due: they take turns with new ones, however many those are. */
  readonly #due = new Fifo<LeasedDelivery>();
  #isDuesTurn = true;
  #shares = sharesAtStart;
  #failures = 0;
  #successes = 0;
  #taken = 0;
  /** Since when none of those under way has ended. */
  #silentSinceMs = 0;
  queuedBytes = 0;
  /** What there may be of it in the database: rows that are due, and bundles. */
  readonly rows = new Backlog();
  readonly bundles = new Backlog();
  #answersMs = 0;

  constructor(organizationId: string, webhookId: string) {
    this.organizationId = organizationId;
    this.webhookId = webhookId;
  }

  get queued(): number {
    return this.#new.length + this.#due.length;
  }

  /** In a row. */
  get failures(): number {
    return this.#failures;
  }

  get isFailing(): boolean {
    return this.#failures >= failuresInARow;
  }

  /** Has answered lately; others have to leave room for those that do. */
  get isProven(): boolean {
    return this.#successes > 0 && !this.isFailing;
  }

  /** How many of its shares are under way, or rest after that. */
  get taken(): number {
    return this.#taken;
  }

  /** Of what is under way nothing has ended for long: it hangs. */
  get isStalled(): boolean {
    return this.#taken > 0 && !this.isFailing && performance.now() - this.#silentSinceMs > slowMs;
  }

  /** Answers, and has little under way. */
  get isModest(): boolean {
    return this.isProven && !this.isSlow && !this.isStalled && this.#taken < sharesAtStart;
  }

  /** Answers, but only after seconds. */
  get isSlow(): boolean {
    return this.#answersMs > slowMs;
  }

  get isSaturated(): boolean {
    return this.queued >= this.#queuedMax;
  }

  /**
   * What is recorded now is left in the database. For one that does not answer that begins sooner: the rest of
   * a large recording would only go back there, in rows.
   */
  get hasEnough(): boolean {
    if (this.rows.isBehind || this.bundles.isBehind) return true;
    const enough = this.isProven ? this.#queuedMax : this.#queuedMax / 4;
    return this.queued >= enough || this.queuedBytes >= queuedBytesMax;
  }

  backlog(bundled: boolean): Backlog {
    return bundled ? this.bundles : this.rows;
  }

  get wantsBundles(): boolean {
    return this.bundles.isExpected && this.hasRoomForBundles;
  }

  get hasRoomForBundles(): boolean {
    // Of one that does not answer large bundles get rows, and it has enough of those.
    if (!this.isProven && !this.hasRoomForDue) return false;
    return this.queued < this.#queuedMax / 4 && this.queuedBytes < queuedBytesMax / 4;
  }

  get wantsDue(): boolean {
    return this.rows.isExpected && this.hasRoomForDue;
  }

  /** Also where there are many new ones here: due ones do not wait behind them. */
  get hasRoomForDue(): boolean {
    if (this.#due.length >= dueMin || this.queuedBytes >= queuedBytesMax) return false;
    return this.isProven || this.queued + dueMax < this.#queuedMax;
  }

  get #queuedMax(): number {
    if (this.isFailing) return queuedMaxWhenFailing;
    return this.isProven ? queuedMax : queuedMaxUnproven;
  }

  get canStart(): boolean {
    return this.queued > 0 && this.#taken < (this.isFailing ? sharesWhenFailing : this.#shares);
  }

  get isIdle(): boolean {
    if (this.queued > 0 || this.#taken > 0) return false;
    return !this.rows.isExpected && !this.bundles.isExpected;
  }

  push(delivery: LeasedDelivery, isDue = false): void {
    (isDue ? this.#due : this.#new).push(delivery);
    this.queuedBytes += bytesOf(delivery);
  }

  shift(): LeasedDelivery | undefined {
    const [first, second] = this.#isDuesTurn ? [this.#due, this.#new] : [this.#new, this.#due];
    const delivery = first.shift() ?? second.shift();
    if (delivery === undefined) return undefined;
    this.#isDuesTurn = !this.#isDuesTurn;
    this.queuedBytes -= bytesOf(delivery);
    return delivery;
  }

  /** What is more than a webhook that keeps failing may have in memory; the newest of it. */
  takeExcess(): LeasedDelivery[] {
    if (!this.isFailing || this.queued <= queuedMaxWhenFailing) return [];
    const excess = this.#new.takeBehind(Math.max(0, queuedMaxWhenFailing - this.#due.length));
    excess.push(...this.#due.takeBehind(queuedMaxWhenFailing));
    for (const delivery of excess) this.queuedBytes -= bytesOf(delivery);
    this.rows.expect();
    return excess;
  }

  takeAll(): LeasedDelivery[] {
    this.queuedBytes = 0;
    return [...this.#due.takeBehind(0), ...this.#new.takeBehind(0)];
  }

  started(): void {
    if (this.#taken === 0) this.#silentSinceMs = performance.now();
    this.#taken += 1;
  }

  ended(): void {
    this.#taken -= 1;
    this.#silentSinceMs = performance.now();
  }

  /** How long an attempt took, whatever came of it. */
  took(ms: number): void {
    this.#answersMs += (ms - this.#answersMs) / 8;
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
