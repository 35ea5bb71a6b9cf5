import type { LeasedDelivery } from '../storage/leased-delivery.js';
import type { LeftShare, Placement } from '../storage/recording.js';
import type { Backlog } from './backlog.js';
import type { Left, Looked, Standing } from './claimer.js';
import { Lane } from './lane.js';

const inFlightMax = 1_024;
/** Beyond that, while so many of them hang: a few at a time for each webhook that answers. */
const spare = 512;
/** Webhooks that fail, have not answered yet or are slow may together take this many; the rest is for the others. */
const heldBackMax = 512;
const lanesMax = 1_000;
/** How long a share of a webhook that keeps failing rests between two attempts, at least. */
const restMsMin = 25;
/** It rests the longer the more often it has failed in a row. */
const failuresToDouble = 500;
const wearinessMax = 4;
const queuedMax = 30_000;
const queuedBytesMax = 64 * 1024 * 1024;
/** The last room is for webhooks that have little here: not for new ones of others, and not for their bundles. */
const reserved = 8_000;
const little = 100;
/** What webhooks that do not answer may take of the memory, beside the others: theirs waits in the database. */
const unprovenBytesMax = 16 * 1024 * 1024;

export interface DispatcherOptions {
  /** Attempts one delivery and sees to its settlement; says whether the webhook took it. */
  run: (delivery: LeasedDelivery) => Promise<'delivered' | 'failed' | 'not attempted'>;
  /** Whether an attempt may be started at all now. */
  mayStart: () => boolean;
  /** Called when a webhook that has more in the database has room for it here. */
  onRoom: () => void;
  /** Called with deliveries that there is no room for; they go back to the database. */
  onSurplus: (deliveries: readonly LeasedDelivery[]) => void;
}

/** What runs next: organizations take turns, and within one its webhooks, each within its share. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that can start something, by organization, in the order of their turns. */
  readonly #ready = new Map<string, Set<Lane>>();
  #inFlight = 0;
  #heldBack = 0;
  #closed = false;
  #whenIdle: (() => void)[] = [];

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get queued(): number {
    return this.#usage(() => true).queued;
  }

  /** How many more deliveries of webhooks that answer fit into memory. */
  get room(): number {
    const { queued, bytes } = this.#usage((lane) => lane.isProven);
    return this.#closed || bytes >= queuedBytesMax ? 0 : Math.max(0, queuedMax - queued);
  }

  #usage(counts: (lane: Lane) => boolean): { queued: number; bytes: number } {
    const usage = { queued: 0, bytes: 0 };
    for (const lane of this.#lanes.values()) {
      if (!counts(lane)) continue;
      usage.queued += lane.queued;
      usage.bytes += lane.queuedBytes;
    }
    return usage;
  }

  /** Which webhooks have enough here, so that new deliveries of theirs are left to whoever has room. */
  placement(node: number | undefined): Placement {
    if (node === undefined || this.#closed) return { node: null, saturated: [] };
    const { queued, bytes } = this.#usage(() => true);
    const [free, freeBytes] = [Math.max(0, queuedMax - queued), Math.max(0, queuedBytesMax - bytes)];
    // No more than half of what is free: however many webhooks want more than they can send, some of it stays so.
    const most = Math.max(little, (free - reserved) / 2);
    const hasEnough = (lane: Lane) =>
      lane.hasEnough || (lane.queued > 0 && (lane.queued >= most || lane.queuedBytes >= freeBytes / 2));
    // Further recordings may be under way.
    const room = freeBytes === 0 ? 0 : Math.floor(free / 4);
    return { node, saturated: this.#webhooks(hasEnough), room };
  }

  /** New deliveries of these were left in the database. */
  left(shares: readonly LeftShare[]): void {
    for (const { webhook_id: id, bundled } of shares) this.#lanes.get(id)?.backlog(bundled).grow();
  }

  /** These are in the database: it is kept in mind. Answers whether one of their webhooks could be given some now. */
  announced(shares: readonly LeftShare[]): boolean {
    const { isBusy, isBusyWithDue } = this.#busyness();
    let hasRoom = false;
    for (const { webhook_id: id, bundled } of shares) {
      const lane = this.#lanes.get(id);
      lane?.backlog(bundled).expect();
      if (!lane || !(bundled ? isBusy(lane) : isBusyWithDue(lane))) hasRoom = true;
    }
    return hasRoom;
  }

  /** Webhooks that need nothing from the database now, and those that take whatever there is of theirs. */
  standing(): Standing {
    const { isBusy, isBusyWithDue } = this.#busyness();
    return {
      busy: this.#webhooks(isBusy),
      busyWithDue: this.#webhooks(isBusyWithDue),
      answering: this.#webhooks((lane) => lane.isProven && !isBusy(lane)),
    };
  }

  /** Of which webhooks nothing is claimed now: of bundles, and of rows that are due. */
  #busyness(): Record<'isBusy' | 'isBusyWithDue', (lane: Lane) => boolean> {
    const full = this.#usage((lane) => !lane.isProven).bytes >= unprovenBytesMax;
    const isOut = (lane: Lane) => full && !lane.isProven;
    const isTight = this.room < reserved;
    return {
      isBusy: (lane) =>
        (lane.queued > 0 && !lane.hasRoomForBundles) || (isTight && lane.queued >= little) || isOut(lane),
      isBusyWithDue: (lane) => (lane.queued > 0 && !lane.hasRoomForDue) || isOut(lane),
    };
  }

  #webhooks(isMeant: (lane: Lane) => boolean): string[] {
    return [...this.#lanes.values()].filter(isMeant).map((lane) => lane.webhookId);
  }

  /** `areDue`: they were to be sent by now, and are not kept waiting behind new ones. */
  add(deliveries: readonly LeasedDelivery[], areDue = false): void {
    const surplus: LeasedDelivery[] = [];
    let unprovenBytes = this.#usage((lane) => !lane.isProven).bytes;
    for (const delivery of deliveries) {
      const lane = this.#lane(delivery);
      if (!lane.isProven && (lane.isSaturated || unprovenBytes >= unprovenBytesMax)) {
        lane.rows.expect();
        surplus.push(delivery);
        continue;
      }
      unprovenBytes -= lane.isProven ? 0 : lane.queuedBytes;
      lane.push(delivery, areDue);
      unprovenBytes += lane.isProven ? 0 : lane.queuedBytes;
      this.#offer(lane);
    }
    if (surplus.length > 0) this.#options.onSurplus(surplus);
    this.pump();
  }

  /** After a claim: which webhooks have more in the database, and of which it is known that they do not. */
  expect({ due, bundled, atMs }: Left): void {
    for (const lane of this.#lanes.values()) {
      learn(lane.rows, due, lane.webhookId, atMs, lane.hasRoomForDue);
      learn(lane.bundles, bundled, lane.webhookId, atMs, lane.hasRoomForBundles);
    }
  }

  pump(): void {
    while (!this.#isFull && this.#options.mayStart()) {
      const lane = this.#nextLane();
      if (!lane) return;
      this.#start(lane);
    }
  }

  get #isFull(): boolean {
    if (this.#inFlight < inFlightMax) return false;
    let stalled = 0;
    for (const lane of this.#lanes.values()) if (lane.isStalled) stalled += lane.taken;
    return this.#inFlight - Math.min(stalled, spare) >= inFlightMax;
  }

  #start(lane: Lane): void {
    const delivery = lane.shift();
    if (!delivery) return;
    const heldBack = isHeldBack(lane);
    const startedMs = performance.now();
    this.#inFlight += 1;
    if (heldBack) this.#heldBack += 1;
    lane.started();
    this.#offer(lane);
    void this.#options.run(delivery).then((result) => {
      if (result === 'delivered') lane.succeeded();
      else if (result === 'failed') lane.failed();
      if (result !== 'not attempted') lane.took(performance.now() - startedMs);
      this.#inFlight -= 1;
      if (heldBack) this.#heldBack -= 1;
      if (lane.isFailing) {
        // Its share rests; what may be under way at all is for others meanwhile.
        setTimeout(() => this.#finish(lane), this.#restMs(lane)).unref();
        this.pump();
      } else this.#finish(lane);
      if (this.#inFlight === 0) for (const idle of this.#whenIdle.splice(0)) idle();
    });
  }

  #finish(lane: Lane): void {
    lane.ended();
    const excess = lane.takeExcess();
    if (excess.length > 0 && !this.#closed) this.#options.onSurplus(excess);
    this.#offer(lane);
    if ((lane.wantsBundles || lane.wantsDue) && !this.#closed) this.#options.onRoom();
    if (lane.isIdle) this.#forgetIdle();
    this.pump();
  }

  /**
   * A receiver that refuses at once could otherwise be asked thousands of times a second, at the cost of
   * those that answer. Together, webhooks that fail get some 600 attempts a second at most.
   */
  #restMs({ failures }: Lane): number {
    let failing = 0;
    for (const lane of this.#lanes.values()) if (lane.isFailing && lane.queued > 0) failing += 1;
    const weariness = Math.min(wearinessMax, 1 + failures / failuresToDouble);
    return restMsMin * Math.max(weariness, failing / 4);
  }

  /** What is known of a webhook is kept while it rests, but not of all that ever were. */
  #forgetIdle(): void {
    if (this.#lanes.size <= lanesMax) return;
    for (const lane of this.#lanes.values()) {
      if (!lane.isIdle) continue;
      this.#lanes.delete(lane.webhookId);
      return;
    }
  }

  #lane(delivery: LeasedDelivery): Lane {
    const known = this.#lanes.get(delivery.webhook_id);
    if (known) return known;
    const lane = new Lane(delivery.organization_id, delivery.webhook_id);
    this.#lanes.set(lane.webhookId, lane);
    return lane;
  }

  #offer(lane: Lane): void {
    if (!lane.canStart) return;
    const lanes = this.#ready.get(lane.organizationId);
    if (lanes) lanes.add(lane);
    else this.#ready.set(lane.organizationId, new Set([lane]));
  }

  /** The next organization's next lane; both go to the end of their line, where `#offer` puts them back. */
  #nextLane(): Lane | undefined {
    const isSpare = this.#inFlight >= inFlightMax;
    const isFull = this.#heldBack >= heldBackMax;
    for (const [organizationId, lanes] of this.#ready) {
      for (const lane of lanes) {
        if ((isFull && isHeldBack(lane)) || (isSpare && !lane.isModest)) continue;
        lanes.delete(lane);
        this.#ready.delete(organizationId);
        if (lanes.size > 0) this.#ready.set(organizationId, lanes);
        if (lane.canStart) return lane;
        break;
      }
    }
    return undefined;
  }

  /** Empties the queues and answers what was in them; what is under way goes on. */
  takeQueued(): LeasedDelivery[] {
    const taken = [...this.#lanes.values()].flatMap((lane) => lane.takeAll());
    this.#ready.clear();
    return taken;
  }

  /** Nothing more is started. Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#inFlight === 0) return;
    await new Promise<void>((idle) => this.#whenIdle.push(idle));
  }
}

function isHeldBack(lane: Lane): boolean {
  return !lane.isProven || lane.isSlow;
}

function learn(
  backlog: Backlog,
  { more, all, busy, complete }: Looked,
  webhookId: string,
  atMs: number,
  claimedNext: boolean,
): void {
  if (more.has(webhookId)) backlog.expect();
  else if (all.has(webhookId) || (complete && !busy.has(webhookId))) backlog.expectNone(atMs, claimedNext);
}
