import type { Claimed } from '../storage/claims.js';
import type { LeasedDelivery } from '../storage/leased-delivery.js';
import type { Matched } from '../storage/recording.js';
import type { Room } from '../storage/room.js';
import { bytesOf, type Hold, Lane } from './lane.js';
import { limits } from './limits.js';
import {
  type Allowance,
  allow,
  type Condition,
  conditionOf,
  type Ended,
  ended,
  fitsInFlight,
  inFlightOf,
  isFull,
  isResponsive,
  type Load,
  started,
} from './policy.js';

/** The next delivery to attempt. */
export interface Turn {
  lane: Lane;
  delivery: LeasedDelivery;
  bytes: number;
  isUnhealthy: boolean;
}

/** The deliveries in a node's memory, by webhook. Organizations take turns, and so do the webhooks of each. */
export class Lanes {
  readonly #later: (ms: number, work: () => void) => void;
  readonly #now: () => number;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that may be able to start an attempt, by organization, in the order of their turns. */
  readonly #ready = new Map<string, Set<Lane>>();
  readonly #load: Load = {
    inFlight: 0,
    unhealthy: 0,
    stalled: 0,
    bytesInFlight: 0,
    unhealthyBytesInFlight: 0,
    queued: 0,
    queuedBytes: 0,
    unresponsiveBytes: 0,
    failing: 0,
  };

  /** `later` runs `work` after `ms`, then starts the attempts that have become possible. */
  constructor(later: (ms: number, work: () => void) => void, now = () => performance.now()) {
    this.#later = later;
    this.#now = now;
  }

  get inFlight(): number {
    return this.#load.inFlight;
  }

  /** Returns the number of requests in flight by webhook condition. Scans every lane: use it only for monitoring. */
  inFlightByCondition(): Record<Condition, number> {
    const counts = { new: 0, healthy: 0, slow: 0, stalled: 0, failing: 0 };
    const nowMs = this.#now();
    for (const { observed } of this.#lanes.values())
      counts[conditionOf(observed, nowMs)] += observed.inFlight;
    return counts;
  }

  get queued(): number {
    let queued = 0;
    for (const lane of this.#lanes.values()) queued += lane.queued;
    return queued;
  }

  /** Yields the webhooks with deliveries in memory, queued or in flight. */
  *inUse(): Iterable<{ organization_id: string; id: string }> {
    for (const { queued, observed, organizationId, webhookId } of this.#lanes.values()) {
      if (queued > 0 || observed.inFlight > 0) yield { organization_id: organizationId, id: webhookId };
    }
  }

  /** Returns the room for deliveries that a recording can hand to this node. */
  roomToRecord(node: number): Room {
    return this.#room(node, limits.laneQueuedNew, this.#free / 4, ({ waiting, queued }, { inMemory }) =>
      waiting === 'many' ? 0 : Math.floor(inMemory * limits.recordedFraction) - queued,
    );
  }

  /** Returns the room for deliveries that a claim can lease to this node, limited to a `fraction` of what is free. */
  roomToClaim(node: number, fraction: number): Room {
    const free = this.#free > limits.queuedReserve ? this.#free - limits.queuedReserve : this.#free / 4;
    const total = Math.min(limits.claimDeliveries, free) * fraction;
    return this.#room(node, Math.max(1, limits.claimEach * fraction), total, (_, { toClaim }) =>
      Math.ceil(toClaim * fraction),
    );
  }

  get #free(): number {
    const { queued, queuedBytes } = this.#load;
    return queuedBytes >= limits.queuedBytes + limits.reservedBytes ? 0 : Math.max(0, limits.queued - queued);
  }

  #room(node: number, each: number, total: number, roomOf: (lane: Lane, may: Allowance) => number): Room {
    const nowMs = this.#now();
    const isCrowded = isFull(this.#load) || this.#load.unresponsiveBytes >= limits.unresponsiveBytes;
    const webhooks = new Map<string, number>();
    for (const lane of this.#lanes.values()) {
      // Most lanes are idle. They get the same room as an unknown webhook, so they need not be listed.
      if (lane.isIdle && !isCrowded) continue;
      webhooks.set(lane.webhookId, Math.max(0, roomOf(lane, this.#allow(lane, nowMs))));
    }
    const eachMax = isCrowded ? limits.windowAtStart : each;
    return { node, webhooks, each: Math.floor(Math.min(each, eachMax)), total: Math.floor(total) };
  }

  /** Notes what a recording left in the database. Returns whether this node has room for some of it. */
  recorded(matched: readonly Matched[]): boolean {
    let hasRoom = false;
    for (const { webhook_id: id, has_backlog } of matched) {
      if (!has_backlog) continue;
      const lane = this.#lanes.get(id);
      lane?.noteManyWaiting(this.#now());
      hasRoom ||= !lane || this.#wantsMore(lane);
    }
    return hasRoom;
  }

  /** Notes what a claim that started at `beganMs` left in the database. Returns whether to claim again now. */
  claimed({ more }: Claimed, asked: Room, beganMs: number): boolean {
    const nowMs = this.#now();
    let again = false;
    for (const id of more) {
      const lane = this.#lanes.get(id);
      lane?.noteManyWaiting(nowMs);
      again ||= !lane || this.#allow(lane, nowMs).toClaim > 0;
    }
    for (const lane of this.#lanes.values()) {
      const wasAsked = (asked.webhooks.get(lane.webhookId) ?? asked.each) > 0;
      if (wasAsked && !more.has(lane.webhookId)) lane.noteNoneWaiting(beganMs);
      this.#forgetIdle(lane);
    }
    return again;
  }

  #wantsMore(lane: Lane): boolean {
    return lane.waiting !== 'none' && this.#allow(lane, this.#now()).toClaim > 0;
  }

  /** Queues deliveries, and returns those that do not fit. */
  add(deliveries: readonly LeasedDelivery[]): LeasedDelivery[] {
    const nowMs = this.#now();
    const touched = new Set<Lane>();
    for (const delivery of deliveries) {
      const lane = this.#lane(delivery);
      this.#change(lane, () => lane.push(delivery, nowMs));
      touched.add(lane);
    }
    for (const lane of touched) this.#offer(lane);
    // While memory is full, webhooks that are stuck may no longer keep what they have.
    const checked = isFull(this.#load) ? this.#lanes.values() : touched;
    return [...checked].flatMap((lane) => this.#takeExcess(lane));
  }

  /** Starts (1) or stops (-1) counting a given-back delivery as queued: until it is written, it stays in memory. */
  countGivenBack(delivery: LeasedDelivery, sign: 1 | -1): void {
    this.#load.queued += sign;
    this.#load.queuedBytes += sign * bytesOf(delivery);
  }

  /** Removes what a webhook may no longer keep in memory. */
  #takeExcess(lane: Lane): LeasedDelivery[] {
    if (lane.queued === 0) return [];
    const { kept } = this.#allow(lane, this.#now());
    if (lane.queued <= kept) return [];
    const excess = this.#change(lane, () => lane.takeAllBut(kept));
    lane.noteManyWaiting(this.#now());
    return excess;
  }

  /** Takes the next delivery to attempt, from the next organization's next webhook that may get a request. */
  next(): Turn | undefined {
    const nowMs = this.#now();
    this.#load.stalled = this.#stalled(nowMs);
    for (const [organizationId, lanes] of this.#ready) {
      for (const lane of lanes) {
        const waitMs = lane.pace.waitMs(nowMs);
        if (waitMs > 0) {
          this.hold(lane, 'pace');
          this.#later(waitMs, () => this.release(lane, 'pace'));
          continue;
        }
        const condition = conditionOf(lane.observed, nowMs);
        if (inFlightOf(condition, lane.observed.window, this.#load) <= lane.occupied) {
          // The window is full. The lane becomes ready again when one of its requests or rest periods ends.
          if (lane.occupied >= lane.observed.window) lanes.delete(lane);
          continue;
        }
        if (!fitsInFlight(condition, lane.nextBytes, lane.bytesInFlight, this.#load)) continue;
        const turn = this.#start(lane, condition, nowMs);
        if (lane.queued === 0 || lanes.size > 1) lanes.delete(lane);
        if (!turn) continue;
        // Move the lane and its organization behind the others.
        if (lane.queued > 0) lanes.add(lane);
        if (lanes.size === 0 || this.#ready.size > 1) this.#ready.delete(organizationId);
        if (lanes.size > 0) this.#ready.set(organizationId, lanes);
        return turn;
      }
      if (lanes.size === 0) this.#ready.delete(organizationId);
    }
    return undefined;
  }

  #start(lane: Lane, condition: Condition, nowMs: number): Turn | undefined {
    const delivery = this.#change(lane, () => lane.shift(nowMs));
    if (!delivery) return undefined;
    const turn = { lane, delivery, bytes: bytesOf(delivery), isUnhealthy: condition !== 'healthy' };
    this.#countInFlight(turn, 1);
    lane.observed = started(lane.observed, nowMs);
    lane.pace.begin(nowMs);
    return turn;
  }

  #countInFlight({ lane, bytes, isUnhealthy }: Turn, sign: 1 | -1): void {
    const load = this.#load;
    load.inFlight += sign;
    load.bytesInFlight += sign * bytes;
    lane.bytesInFlight += sign * bytes;
    if (!isUnhealthy) return;
    load.unhealthy += sign;
    load.unhealthyBytesInFlight += sign * bytes;
  }

  /** Notes how many requests per second the webhook of a turn may get. */
  limit({ lane }: Turn, perSecond: number | undefined): void {
    lane.pace.set(perSecond, this.#now());
  }

  /** Keeps a lane from starting attempts until it is released from this hold and all others. */
  hold(lane: Lane, why: Hold): void {
    this.#ready.get(lane.organizationId)?.delete(lane);
    lane.holds.add(why);
  }

  release(lane: Lane, why: Hold): void {
    if (lane.holds.delete(why)) this.#offer(lane);
  }

  /** Holds the lanes of these webhooks, because the webhooks are locked. */
  holdLocked(webhookIds: Iterable<string>): void {
    for (const lane of this.#known(webhookIds)) this.hold(lane, 'locked');
  }

  releaseLocked(webhookIds: Iterable<string>): void {
    for (const lane of this.#known(webhookIds)) this.release(lane, 'locked');
  }

  #known(webhookIds: Iterable<string>): Lane[] {
    return [...webhookIds].flatMap((id) => this.#lanes.get(id) ?? []);
  }

  /**
   * Notes how an attempt ended, which may change the webhook's condition. Returns the deliveries that therefore no
   * longer fit, and whether to claim more.
   */
  ended(turn: Turn, attempt: Ended): { surplus: LeasedDelivery[]; wantsMore: boolean } {
    const { lane } = turn;
    this.#countInFlight(turn, -1);
    const nowMs = this.#now();
    this.#change(lane, () => {
      lane.observed = ended(lane.observed, attempt, lane.queued > 0, nowMs);
    });
    const { restMs } = this.#allow(lane, nowMs);
    if (restMs > 0) this.#rest(lane, restMs);
    else this.#offer(lane);
    const surplus = this.#takeExcess(lane);
    this.#forgetIdle(lane);
    return { surplus, wantsMore: this.#wantsMore(lane) };
  }

  /** Keeps a failed request's place in the window occupied for a while. */
  #rest(lane: Lane, restMs: number): void {
    lane.resting += 1;
    this.#later(restMs, () => {
      lane.resting -= 1;
      this.#offer(lane);
    });
  }

  /** Empties the queues and returns their deliveries. Requests in flight and holds continue. */
  clear(): LeasedDelivery[] {
    this.#ready.clear();
    return [...this.#lanes.values()].flatMap((lane) => this.#change(lane, () => lane.takeAllBut(0)));
  }

  #allow(lane: Lane, nowMs: number): Allowance {
    const isStuck = isFull(this.#load) && nowMs - lane.nextSinceMs > limits.slowMs;
    const condition = conditionOf(lane.observed, nowMs, isStuck);
    return allow(condition, lane.observed, lane, this.#load, lane.pace.limit);
  }

  /** Counts the requests in flight to stalled webhooks. Returns 0 if slots are free, to avoid scanning every lane. */
  #stalled(nowMs: number): number {
    if (this.#load.inFlight < limits.slots) return 0;
    let stalled = 0;
    for (const { observed } of this.#lanes.values())
      if (conditionOf(observed, nowMs) === 'stalled') stalled += observed.inFlight;
    return stalled;
  }

  #lane({ organization_id: organizationId, webhook_id: webhookId }: LeasedDelivery): Lane {
    const known = this.#lanes.get(webhookId);
    if (known) return known;
    const lane = new Lane(organizationId, webhookId);
    this.#lanes.set(webhookId, lane);
    return lane;
  }

  /** Forgets an idle lane if there are too many lanes. One with resting requests or waiting deliveries is not idle. */
  #forgetIdle(lane: Lane): void {
    if (lane.isIdle && lane.holds.size === 0 && this.#lanes.size > limits.lanes)
      this.#lanes.delete(lane.webhookId);
  }

  #offer(lane: Lane): void {
    if (lane.queued === 0 || lane.holds.size > 0) return;
    const lanes = this.#ready.get(lane.organizationId);
    if (lanes) lanes.add(lane);
    else this.#ready.set(lane.organizationId, new Set([lane]));
  }

  /** Changes a lane and updates the load. */
  #change<T>(lane: Lane, change: () => T): T {
    this.#count(lane, -1);
    const result = change();
    this.#count(lane, 1);
    return result;
  }

  #count(lane: Lane, sign: 1 | -1): void {
    const load = this.#load;
    if (isResponsive(lane.observed)) {
      load.queued += sign * lane.queued;
      load.queuedBytes += sign * lane.bytes;
      return;
    }
    load.unresponsiveBytes += sign * lane.bytes;
    if (lane.queued > 0 && lane.observed.failuresInARow >= limits.failingAfter) load.failing += sign;
  }
}
