import Denque from 'denque';
import type { LeasedDelivery } from '../events/leased-delivery.js';
import { limits } from './limits.js';
import { Pace } from './pace.js';
import {
  type Allowance,
  allow,
  conditionOf,
  isFull,
  type Load,
  nothingObserved,
  type Observed,
} from './policy.js';

/**
 * How many deliveries of a webhook are waiting in the database, as far as this node knows:
 * - `none`: none
 * - `some`: perhaps a few. A recording may still hand new deliveries to this node.
 * - `many`: more than this node had room for. New deliveries wait in the database, behind them.
 */
type Waiting = 'none' | 'some' | 'many';

/**
 * Why a lane starts nothing for now:
 * - `pace`: its rate limit is used up
 * - `read`: its webhook is being read
 * - `locked`: another transaction has locked its webhook, so outcomes cannot be written
 */
export type Hold = 'pace' | 'read' | 'locked';

/** One webhook's deliveries in this node's memory, and what the node knows about the webhook. */
export class Lane {
  readonly organizationId: string;
  readonly webhookId: string;
  observed: Observed = nothingObserved;
  /** The size of the webhook's deliveries in flight. */
  bytesInFlight = 0;
  /** How many failed requests still keep their place in the window. */
  resting = 0;
  /** While there is at least one hold, the lane starts nothing. */
  readonly holds = new Set<Hold>();
  readonly pace = new Pace(limits.paceSlackMs);
  readonly #fresh = new Denque<LeasedDelivery>();
  /** Retries and fresh deliveries take turns, so that retries make progress however many fresh ones there are. */
  readonly #retries = new Denque<LeasedDelivery>();
  #isRetryTurn = true;
  #bytes = 0;
  /** The size of the delivery that was queued last. */
  #lastBytes = 0;
  #nextSinceMs = 0;
  #waiting: Waiting = 'none';
  /** When `noteManyWaiting` was last called. */
  #notedAtMs = Number.NEGATIVE_INFINITY;

  constructor(organizationId: string, webhookId: string) {
    this.organizationId = organizationId;
    this.webhookId = webhookId;
  }

  get queued(): number {
    return this.#fresh.length + this.#retries.length;
  }

  /** Returns the size of the queued deliveries. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the average size of the queued deliveries. If none is queued, returns the size of the last one, or 0 if
   * there was none.
   */
  get usualBytes(): number {
    return this.queued > 0 ? this.#bytes / this.queued : this.#lastBytes;
  }

  /** Returns the size of the delivery that `shift` would return, or 0. */
  get nextBytes(): number {
    const [first, second] = this.#inTurn;
    const delivery = first.peekFront() ?? second.peekFront();
    return delivery ? bytesOf(delivery) : 0;
  }

  /** Returns both queues, starting with the one whose turn it is. */
  get #inTurn(): [Denque<LeasedDelivery>, Denque<LeasedDelivery>] {
    return this.#isRetryTurn ? [this.#retries, this.#fresh] : [this.#fresh, this.#retries];
  }

  get waiting(): Waiting {
    return this.#waiting;
  }

  /** Returns how many places in the window are taken. */
  get occupied(): number {
    return this.observed.inFlight + this.resting;
  }

  get isIdle(): boolean {
    return this.queued === 0 && this.occupied === 0 && this.#waiting === 'none';
  }

  /** Returns when the next delivery started to wait for its turn, or infinity if there is none. */
  get nextSinceMs(): number {
    return this.queued > 0 ? this.#nextSinceMs : Number.POSITIVE_INFINITY;
  }

  /** Returns what the webhook is allowed now, given the load of the node. */
  allowance(load: Load, nowMs: number): Allowance {
    // While memory is full, a webhook that has started nothing for a second counts as stalled.
    const isStuck = isFull(load) && nowMs - this.nextSinceMs > limits.slowMs;
    const condition = conditionOf(this.observed, nowMs, isStuck);
    return allow(condition, this.observed, this, load, this.pace.limit);
  }

  push(delivery: LeasedDelivery, nowMs: number): void {
    if (this.queued === 0) this.#nextSinceMs = nowMs;
    (delivery.attempts > 0 ? this.#retries : this.#fresh).push(delivery);
    this.#lastBytes = bytesOf(delivery);
    this.#bytes += this.#lastBytes;
  }

  /** Removes and returns the next delivery to attempt. */
  shift(nowMs: number): LeasedDelivery | undefined {
    const [first, second] = this.#inTurn;
    const delivery = first.shift() ?? second.shift();
    if (delivery === undefined) return undefined;
    this.#isRetryTurn = !this.#isRetryTurn;
    this.#nextSinceMs = nowMs;
    this.#bytes -= bytesOf(delivery);
    return delivery;
  }

  /**
   * Removes and returns all queued deliveries except `kept` of them. Prefers to keep retries and, among retries or
   * fresh deliveries, the older ones.
   */
  takeAllBut(kept: number): LeasedDelivery[] {
    const freshKept = Math.max(0, kept - this.#retries.length);
    const taken = this.#fresh.splice(freshKept, this.#fresh.length) ?? [];
    taken.push(...(this.#retries.splice(kept, this.#retries.length) ?? []));
    for (const delivery of taken) this.#bytes -= bytesOf(delivery);
    return taken;
  }

  /** Notes that more deliveries are waiting in the database than this node had room for. */
  noteManyWaiting(nowMs: number): void {
    this.#waiting = 'many';
    this.#notedAtMs = nowMs;
  }

  /**
   * Notes that a claim, which began at `beganMs`, left nothing waiting. If `noteManyWaiting` was called since then,
   * some may be waiting again.
   */
  noteNoneWaiting(beganMs: number): void {
    if (this.#waiting !== 'none') this.#waiting = this.#notedAtMs < beganMs ? 'none' : 'some';
  }
}

/**
 * Returns about how many bytes a delivery takes up in memory: 300 for its fields, and two for each character of its
 * payload. While it is in flight, both the text and the request body are in memory.
 */
export function bytesOf(delivery: LeasedDelivery): number {
  return 300 + (delivery.payload?.length ?? 0) * 2;
}
