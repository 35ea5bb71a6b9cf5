import type { LeasedDelivery, Matched, Room } from '../events/recording-store.js';
import type { Claimed } from './claim-store.js';
import { bytesOf, type Hold, Lane, roomToClaim, roomToRecord } from './lane.js';
import { limits } from './limits.js';
import * as policy from './policy.js';

/** A delivery whose turn it is: it is no longer queued, and is being attempted. */
export interface Turn {
  lane: Lane;
  delivery: LeasedDelivery;
  bytes: number;
  /** Whether the webhook was not healthy when the turn began. */
  isUnhealthy: boolean;
}

/**
 * The deliveries in a node's memory, by webhook. Decides which delivery is attempted next, and how many more this node
 * can take. Organizations take turns, and so do the webhooks of each organization.
 */
export class Lanes {
  readonly #later: (ms: number, work: () => void) => void;
  readonly #inFlightMax: () => number;
  readonly #isOld: (delivery: LeasedDelivery) => boolean;
  readonly #now: () => number;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that may be able to start an attempt, by organization, in the order of their turns. */
  readonly #ready = new Map<string, Set<Lane>>();
  readonly #load: policy.Load = {
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

  /**
   * `later` runs `work` after `ms`, then starts the attempts that have become possible. `inFlightMax` returns how many
   * requests this node may have in flight to one webhook. `isOld` returns whether a delivery has waited so long that its
   * webhook starts gently.
   */
  constructor(
    later: (ms: number, work: () => void) => void,
    now = () => performance.now(),
    inFlightMax: () => number = () => limits.windowMax,
    isOld: (delivery: LeasedDelivery) => boolean = () => false,
  ) {
    this.#later = later;
    this.#inFlightMax = inFlightMax;
    this.#isOld = isOld;
    this.#now = now;
  }

  get inFlight(): number {
    return this.#load.inFlight;
  }

  /** Returns the number of requests in flight by webhook condition. Scans every lane: use it only for monitoring. */
  inFlightByCondition(): Record<policy.Condition, number> {
    const counts = { new: 0, healthy: 0, slow: 0, stalled: 0, failing: 0 };
    const nowMs = this.#now();
    for (const { observed } of this.#lanes.values())
      counts[policy.conditionOf(observed, nowMs)] += observed.inFlight;
    return counts;
  }

  /** Returns how many deliveries are queued, whatever the condition of their webhooks. */
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

  /** Returns how many deliveries a recording may hand to this node. */
  roomToRecord(node: number): Room {
    return { node, ...roomToRecord(this.#lanes.values(), this.#load, this.#now()) };
  }

  /** Returns how many deliveries a claim may lease to this node. `fraction` scales the claim down. */
  roomToClaim(node: number, fraction: number): Room {
    return { node, ...roomToClaim(this.#lanes.values(), this.#load, this.#now(), fraction) };
  }

  /** Notes what a recording left in the database. Returns whether this node has room for any of it. */
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

  /**
   * Notes what a claim left in the database. The claim began at `beganMs` and could take what the room `asked` allows.
   * Returns whether this node has room for any of what is left.
   */
  claimed({ more }: Claimed, asked: Room, beganMs: number): boolean {
    const nowMs = this.#now();
    let again = false;
    for (const id of more) {
      const lane = this.#lanes.get(id);
      lane?.noteManyWaiting(nowMs);
      again ||= !lane || lane.allowance(this.#load, nowMs).toClaim > 0;
    }
    for (const lane of this.#lanes.values()) {
      const wasAsked = (asked.webhooks.get(lane.webhookId) ?? asked.each) > 0;
      if (wasAsked && !more.has(lane.webhookId)) lane.noteNoneWaiting(beganMs);
      this.#forgetIdle(lane);
    }
    return again;
  }

  #wantsMore(lane: Lane): boolean {
    return lane.waiting !== 'none' && lane.allowance(this.#load, this.#now()).toClaim > 0;
  }

  /** Queues deliveries. Returns those that do not fit, which must be given back. */
  add(deliveries: readonly LeasedDelivery[]): LeasedDelivery[] {
    const touched = new Set<Lane>();
    for (const delivery of deliveries) {
      const lane = this.#lane(delivery);
      this.#change(lane, () => lane.push(delivery));
      touched.add(lane);
    }
    for (const lane of touched) this.#offer(lane);
    // While memory is crowded, any webhook may have to give some back.
    const checked = policy.isCrowded(this.#load) ? this.#lanes.values() : touched;
    return [...checked].flatMap((lane) => this.#takeExcess(lane));
  }

  /** Adds (1) or removes (-1) a surplus delivery. It takes up memory until the settler has given it back. */
  countSurplus(delivery: LeasedDelivery, sign: 1 | -1): void {
    this.#load.queued += sign;
    this.#load.queuedBytes += sign * bytesOf(delivery);
  }

  /** Removes and returns the deliveries that a webhook may no longer keep in memory. */
  #takeExcess(lane: Lane): LeasedDelivery[] {
    if (lane.queued === 0) return [];
    const { kept } = lane.allowance(this.#load, this.#now());
    if (lane.queued <= kept) return [];
    const excess = this.#change(lane, () => lane.takeAllBut(kept));
    lane.noteManyWaiting(this.#now());
    return excess;
  }

  /** Takes the next delivery to attempt. Returns undefined if no webhook may get a request now. */
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
        const condition = policy.conditionOf(lane.observed, nowMs);
        const window = Math.min(lane.observed.window, this.#windowMax(lane, nowMs));
        if (policy.inFlightOf(condition, window, this.#load) <= lane.occupied) {
          // The window is full. The lane becomes ready again when one of its requests or rest periods ends.
          if (lane.occupied >= window) lanes.delete(lane);
          continue;
        }
        if (!policy.fitsInFlight(condition, lane.nextBytes, lane.bytesInFlight, this.#load)) continue;
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

  #windowMax({ oldestFresh, observed }: Lane, nowMs: number): number {
    const max = Math.floor(this.#inFlightMax());
    return oldestFresh && this.#isOld(oldestFresh) ? policy.gently(max, observed, nowMs) : max;
  }

  #start(lane: Lane, condition: policy.Condition, nowMs: number): Turn | undefined {
    const delivery = this.#change(lane, () => lane.shift());
    if (!delivery) return undefined;
    const turn = { lane, delivery, bytes: bytesOf(delivery), isUnhealthy: condition !== 'healthy' };
    this.#countInFlight(turn, 1);
    lane.observed = policy.started(lane.observed, nowMs);
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

  /** Sets how many requests per second the webhook of a turn may get. */
  limit({ lane }: Turn, perSecond: number | undefined): void {
    lane.pace.set(perSecond, this.#now());
  }

  /** Keeps a lane from starting attempts until this hold and all others are released. */
  hold(lane: Lane, why: Hold): void {
    this.#ready.get(lane.organizationId)?.delete(lane);
    lane.holds.add(why);
  }

  release(lane: Lane, why: Hold): void {
    if (lane.holds.delete(why)) this.#offer(lane);
  }

  /**
   * Notes how an attempt ended, which may change the webhook's condition. Returns the deliveries that therefore no
   * longer fit and must be given back (`surplus`), and whether to claim more.
   */
  ended(turn: Turn, attempt: policy.Ended): { surplus: LeasedDelivery[]; wantsMore: boolean } {
    const { lane } = turn;
    this.#countInFlight(turn, -1);
    const nowMs = this.#now();
    this.#change(lane, () => {
      lane.observed = policy.ended(lane.observed, attempt, lane.queued > 0, nowMs);
    });
    const { restMs } = lane.allowance(this.#load, nowMs);
    if (restMs > 0) this.#rest(lane, restMs);
    else this.#offer(lane);
    const surplus = this.#takeExcess(lane);
    this.#noteUse(lane);
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

  /** Empties the queues and returns their deliveries. Does not affect requests in flight, or holds. */
  clear(): LeasedDelivery[] {
    this.#ready.clear();
    return [...this.#lanes.values()].flatMap((lane) => this.#change(lane, () => lane.takeAllBut(0)));
  }

  /** Counts the requests in flight to stalled webhooks. Returns 0 if slots are free, to avoid scanning every lane. */
  #stalled(nowMs: number): number {
    if (this.#load.inFlight < limits.slots) return 0;
    let stalled = 0;
    for (const { observed } of this.#lanes.values())
      if (policy.conditionOf(observed, nowMs) === 'stalled') stalled += observed.inFlight;
    return stalled;
  }

  #lane({ organization_id: organizationId, webhook_id: webhookId }: LeasedDelivery): Lane {
    const known = this.#lanes.get(webhookId);
    if (known) return known;
    const lane = new Lane(organizationId, webhookId);
    this.#lanes.set(webhookId, lane);
    return lane;
  }

  /** Forgets an idle lane if there are too many. Claims call this for all lanes, in the order of their last use. */
  #forgetIdle(lane: Lane): void {
    if (this.#lanes.size <= limits.lanes || !lane.isIdle || lane.holds.size > 0) return;
    // If a lane were forgotten while its pace makes it wait, its next request would start at once.
    if (lane.pace.waitMs(this.#now()) === 0) this.#lanes.delete(lane.webhookId);
  }

  /** Moves a lane behind those that were used less recently, if some are to be forgotten. */
  #noteUse(lane: Lane): void {
    if (this.#lanes.size <= limits.lanes) return;
    this.#lanes.delete(lane.webhookId);
    this.#lanes.set(lane.webhookId, lane);
  }

  /** Makes a lane ready to start attempts, if it has queued deliveries and no hold. */
  #offer(lane: Lane): void {
    if (lane.queued === 0 || lane.holds.size > 0) return;
    const lanes = this.#ready.get(lane.organizationId);
    if (lanes) lanes.add(lane);
    else this.#ready.set(lane.organizationId, new Set([lane]));
  }

  /** Runs `change`, which changes a lane, and updates the load accordingly. */
  #change<T>(lane: Lane, change: () => T): T {
    this.#count(lane, -1);
    const result = change();
    this.#count(lane, 1);
    return result;
  }

  /** Adds (1) or removes (-1) what a lane contributes to the load. */
  #count(lane: Lane, sign: 1 | -1): void {
    const load = this.#load;
    if (policy.isResponsive(lane.observed)) {
      load.queued += sign * lane.queued;
      load.queuedBytes += sign * lane.bytes;
      return;
    }
    load.unresponsiveBytes += sign * lane.bytes;
    if (lane.queued > 0 && lane.observed.failuresInARow >= limits.failingAfter) load.failing += sign;
  }
}
