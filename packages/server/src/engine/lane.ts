import Denque from 'denque';
import type { LeasedDelivery, Room } from '../events/recording-store.js';
import { limits } from './limits.js';
import * as policy from './policy.js';

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
 */
export type Hold = 'pace' | 'read';

/** One webhook's deliveries in this node's memory, and what the node knows about the webhook. */
export class Lane {
  readonly organizationId: string;
  readonly webhookId: string;
  observed: policy.Observed = policy.nothingObserved;
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

  /** Returns the queued delivery that has waited longest for its first attempt. */
  get oldestFresh(): LeasedDelivery | undefined {
    return this.#fresh.peekFront();
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

  /** Returns what the webhook is allowed now, given the load of the node. */
  allowance(load: policy.Load, nowMs: number): policy.Allowance {
    return policy.allow(policy.conditionOf(this.observed, nowMs), this.observed, this, load, this.pace.limit);
  }

  push(delivery: LeasedDelivery): void {
    (delivery.attempts > 0 ? this.#retries : this.#fresh).push(delivery);
    this.#lastBytes = bytesOf(delivery);
    this.#bytes += this.#lastBytes;
  }

  /** Removes and returns the next delivery to attempt. */
  shift(): LeasedDelivery | undefined {
    const [first, second] = this.#inTurn;
    const delivery = first.shift() ?? second.shift();
    if (delivery === undefined) return undefined;
    this.#isRetryTurn = !this.#isRetryTurn;
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

/**
 * Limits how fast this node sends to a webhook that has a rate limit. The first request may start before the limit is
 * known, but the second never does.
 */
class Pace {
  /** How late a request can start without delaying the requests after it. */
  readonly #slackMs: number;
  #limit: number | undefined;
  /** When the next request may start. */
  #freeAtMs = Number.NEGATIVE_INFINITY;

  constructor(slackMs: number) {
    this.#slackMs = slackMs;
  }

  /** Returns the limit in requests per second, if there is one. */
  get limit(): number | undefined {
    return this.#limit;
  }

  /** Sets the webhook's current limit. The request for which the limit was read counts against it. */
  set(limit: number | undefined, nowMs: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.#freeAtMs = limit === undefined ? nowMs : nowMs + 1_000 / limit;
  }

  /** Notes that a request is starting. */
  begin(nowMs: number): void {
    if (this.#limit === undefined) return;
    // If a request starts slightly late because its timer fired late, later requests keep to the original
    // schedule. Time during which the webhook was idle is not made up for.
    const isWithinSlack = nowMs - this.#freeAtMs <= this.#slackMs;
    this.#freeAtMs = (isWithinSlack ? this.#freeAtMs : nowMs) + 1_000 / this.#limit;
  }

  /** Returns how long the next request has to wait, or 0 if it may start now. */
  waitMs(nowMs: number): number {
    return this.#limit === undefined ? 0 : Math.max(0, this.#freeAtMs - nowMs);
  }
}

/**
 * Returns how many deliveries a recording may hand to this node: at most a quarter of what is free, and none for a
 * webhook with many waiting in the database, because those come first.
 */
export function roomToRecord(lanes: Iterable<Lane>, load: policy.Load, nowMs: number): Omit<Room, 'node'> {
  const ofLane = (lane: Lane) =>
    lane.waiting === 'many'
      ? 0
      : Math.floor(lane.allowance(load, nowMs).inMemory * limits.recordedFraction) - lane.queued;
  return roomOf(lanes, load, limits.laneQueuedNew, freeIn(load) / 4, ofLane);
}

/** Returns how many deliveries a claim may lease to this node. `fraction` scales the claim down. */
export function roomToClaim(
  lanes: Iterable<Lane>,
  load: policy.Load,
  nowMs: number,
  fraction: number,
): Omit<Room, 'node'> {
  const free = freeIn(load);
  const claimable = free > limits.queuedReserve ? free - limits.queuedReserve : free / 4;
  const total = Math.min(limits.claimDeliveries, claimable) * fraction;
  const ofLane = (lane: Lane) => Math.ceil(lane.allowance(load, nowMs).toClaim * fraction);
  return roomOf(lanes, load, Math.max(1, limits.claimEach * fraction), total, ofLane);
}

/** Returns how many more deliveries fit into memory, or 0 if the limit on their size is reached. */
function freeIn({ queued, queuedBytes }: policy.Load): number {
  return queuedBytes >= limits.queuedBytes ? 0 : Math.max(0, limits.queued - queued);
}

/** Returns the room for each webhook: what `ofLane` returns if it has a lane, and otherwise `each`. */
function roomOf(
  lanes: Iterable<Lane>,
  load: policy.Load,
  each: number,
  total: number,
  ofLane: (lane: Lane) => number,
): Omit<Room, 'node'> {
  const crowded = policy.isCrowded(load);
  const webhooks = new Map<string, number>();
  for (const lane of lanes) {
    // Most lanes are idle. They need not be listed, because they get the same room as an unknown webhook, unless
    // memory is crowded.
    if (lane.isIdle && !crowded) continue;
    webhooks.set(lane.webhookId, Math.max(0, ofLane(lane)));
  }
  const eachMax = crowded ? limits.windowAtStart : each;
  return { webhooks, each: Math.floor(Math.min(each, eachMax)), total: Math.floor(total) };
}
