import type { Lanes, Turn } from '../../src/engine/lanes.js';
import { limits } from '../../src/engine/limits.js';
import { type LeasedDelivery, noRoom } from '../../src/events/recording-store.js';
import { isDelivered, type Outcome } from '../../src/outcomes/outcome.js';
import type { judge } from '../../src/outcomes/retry-schedule.js';
import type { Checker } from './checker.js';
import type { VirtualClock } from './clock.js';
import type { Random } from './random.js';
import type { SimulatedReceiver } from './receiver.js';
import { timeoutMs } from './receiver.js';
import type { Settlement, SimulatedStore, SimulatedWebhook } from './store.js';

/** The part of the lanes that a node uses. A test can put a broken one in its place. */
export type Scheduler = Pick<
  Lanes,
  'add' | 'next' | 'ended' | 'roomToClaim' | 'roomToRecord' | 'claimed' | 'recorded' | 'limit' | 'queued'
>;

/** What decides: the real policy, or one that a test has broken. */
export interface Rules {
  createLanes: (later: (ms: number, work: () => void) => void, now: () => number) => Scheduler;
  judge: typeof judge;
  /** How long a node uses what it knows about a webhook. */
  trustMs: number;
}

export interface Surroundings {
  clock: VirtualClock;
  store: SimulatedStore;
  random: Random;
  rules: Rules;
  checker: Checker;
  scheduleMs: readonly number[];
  receivers: ReadonlyMap<string, { webhook: SimulatedWebhook; receiver: SimulatedReceiver }>;
  /** Whether the database cannot be reached now. */
  isDatabaseOut: () => boolean;
}

const leaseMs = timeoutMs + limits.leaseMarginMs;

/** A node: the pipeline of the engine on a virtual clock, around the real lanes and the real verdicts. */
export class SimulatedNode {
  readonly #around: Surroundings;
  readonly id: number;
  readonly #lanes: Scheduler;
  #state: 'running' | 'paused' | 'dead' = 'running';
  #leaseUntilMs = Number.POSITIVE_INFINITY;
  #claimAtMs = Number.POSITIVE_INFINITY;
  #unsettled: Settlement[] = [];
  #isFlushing = false;
  /** What a paused node does when it wakes. */
  #late: (() => void)[] = [];
  readonly #known = new Map<string, { isDeleted: boolean; readAtMs: number }>();

  constructor(around: Surroundings) {
    this.#around = around;
    this.id = around.store.register();
    this.#lanes = around.rules.createLanes(
      (ms, work) =>
        this.#later(ms, () => {
          work();
          this.#pump();
        }),
      () => around.clock.nowMs,
    );
    this.wake();
  }

  /** Runs work of this node after a while: not if it is dead by then, and not before it wakes if it is paused. */
  #later(ms: number, work: () => void): void {
    this.#around.clock.in(ms, () => {
      if (this.#state === 'running') work();
      else if (this.#state === 'paused') this.#late.push(work);
    });
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  get room() {
    return this.isRunning ? this.#lanes.roomToRecord(this.id) : noRoom;
  }

  /** Takes what a recording handed over. */
  accept({ leased, matched }: ReturnType<SimulatedStore['record']>): void {
    if (this.#lanes.recorded(matched)) this.wake(limits.wakeMs);
    this.#dispatch(leased);
  }

  #dispatch(deliveries: readonly LeasedDelivery[]): void {
    this.#giveBack(this.#lanes.add(deliveries));
    this.#around.checker.queued(this.id, this.#lanes.queued);
    this.#pump();
  }

  #pump(): void {
    while (this.isRunning && this.#coversAttempt && this.#unsettled.length < limits.unsettledOutcomes) {
      const turn = this.#lanes.next();
      if (!turn) break;
      this.#deliver(turn);
    }
  }

  get #coversAttempt(): boolean {
    return this.#around.clock.nowMs + timeoutMs < this.#leaseUntilMs;
  }

  #deliver(turn: Turn): void {
    const { clock, checker, receivers, random, rules, scheduleMs } = this.#around;
    const { delivery } = turn;
    const { webhook, receiver } = receivers.get(delivery.webhook_id)!;
    if (this.#isDeleted(webhook)) {
      this.#settle({ delivery, verdict: { kind: 'cancelled' } });
      this.#later(0, () => this.#ended(turn, { kind: 'not attempted' }));
      return;
    }
    this.#lanes.limit(turn, webhook.rateLimit);
    checker.started(this.id, delivery, webhook, clock.nowMs);
    const outcome = receiver.respond(clock.nowMs);
    clock.in(outcome.durationMs, () => checker.ended(this.id, delivery, outcome));
    this.#later(outcome.durationMs, () => {
      const verdict = rules.judge(outcome, delivery.scheduled, scheduleMs, random.next());
      this.#settle({ delivery, verdict });
      if (verdict.kind === 'retry' && verdict.waitMs! < limits.pollMs)
        this.wake(verdict.waitMs! + limits.retryStepMs);
      this.#ended(turn, { kind: resultOf(outcome), tookMs: outcome.durationMs });
    });
  }

  /** Reads a webhook only if what the node knows is too old. */
  #isDeleted(webhook: SimulatedWebhook): boolean {
    const { clock, rules } = this.#around;
    const known = this.#known.get(webhook.id);
    if (known && clock.nowMs - known.readAtMs < rules.trustMs) return known.isDeleted;
    this.#known.set(webhook.id, { isDeleted: webhook.isDeleted, readAtMs: clock.nowMs });
    return webhook.isDeleted;
  }

  #ended(turn: Turn, result: Parameters<Scheduler['ended']>[1]): void {
    const { surplus, wantsMore } = this.#lanes.ended(turn, result);
    this.#giveBack(surplus);
    if (wantsMore) this.wake(limits.wakeMs);
    this.#pump();
  }

  #giveBack(deliveries: readonly LeasedDelivery[]): void {
    for (const delivery of deliveries) this.#settle({ delivery, verdict: { kind: 'given back' } });
  }

  #settle(settlement: Settlement): void {
    this.#unsettled.push(settlement);
    if (!this.#isFlushing) this.#flushIn(limits.gatherMs);
  }

  #flushIn(ms: number): void {
    this.#isFlushing = true;
    this.#later(ms, () => {
      const { store, clock, isDatabaseOut } = this.#around;
      if (isDatabaseOut()) {
        this.#flushIn(limits.settleAgainMs);
        return;
      }
      const batch = this.#unsettled.splice(0, limits.settleOutcomes);
      store.settle(this.id, batch, clock.nowMs);
      this.#isFlushing = false;
      if (this.#unsettled.length > 0) this.#flushIn(limits.gatherMs);
      this.wakeForNext();
      this.#pump();
    });
  }

  /** Claims after `ms`, unless an earlier claim is already planned. */
  wake(ms = 0): void {
    const { clock } = this.#around;
    const atMs = clock.nowMs + ms;
    if (atMs >= this.#claimAtMs) return;
    this.#claimAtMs = atMs;
    this.#later(ms, () => {
      if (this.#claimAtMs !== atMs) return;
      this.#claimAtMs = Number.POSITIVE_INFINITY;
      this.#claim();
    });
  }

  /** Stands for the poll, which finds everything that is due twice a second: nobody has to poll while nothing is. */
  wakeForNext(): void {
    const { store, clock } = this.#around;
    const waitMs = store.waitMs(clock.nowMs);
    if (waitMs !== undefined) this.wake(Math.max(limits.pollMs, waitMs));
  }

  #claim(): void {
    const { store, clock, isDatabaseOut } = this.#around;
    if (isDatabaseOut()) {
      this.wake(limits.pollMs);
      return;
    }
    const room = this.#lanes.roomToClaim(this.id, 1);
    if (room.total < 1) {
      this.wake(limits.pollMs);
      return;
    }
    const claimed = store.claim(room, clock.nowMs);
    this.#dispatch(claimed.deliveries);
    if (this.#lanes.claimed(claimed, room, clock.nowMs))
      this.wake(claimed.deliveries.length > 0 ? 0 : limits.wakeMs);
    else this.wakeForNext();
  }

  /** Ends the process. Its lease runs out, and then others get its deliveries. */
  kill(): void {
    this.#state = 'dead';
    this.#around.checker.lost(this.id);
    this.#expire();
  }

  /** Stops the process for a while. If that is longer than its lease, what it settles afterwards does not count. */
  pause(ms: number): void {
    const { clock, checker } = this.#around;
    this.#state = 'paused';
    if (ms >= leaseMs) {
      checker.lost(this.id);
      this.#expire();
      this.#leaseUntilMs = clock.nowMs + leaseMs;
    }
    clock.in(ms, () => {
      this.#state = 'running';
      for (const work of this.#late.splice(0)) work();
      // A node that was declared dead drops what it has and continues as another one.
      if (ms >= leaseMs) this.#state = 'dead';
      else this.#pump();
    });
  }

  #expire(): void {
    const { clock, store } = this.#around;
    clock.in(leaseMs, () => store.release(this.id, clock.nowMs));
  }
}

function resultOf(outcome: Outcome): 'delivered' | 'failed' {
  return isDelivered(outcome) ? 'delivered' : 'failed';
}
