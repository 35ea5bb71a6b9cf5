import { Lanes } from '../../src/engine/lanes.js';
import { limits } from '../../src/engine/limits.js';
import { judge } from '../../src/outcomes/retry-schedule.js';
import { Checker } from './checker.js';
import { VirtualClock } from './clock.js';
import { type Rules, SimulatedNode, type Surroundings } from './node.js';
import { Random } from './random.js';
import { manners, SimulatedReceiver } from './receiver.js';
import { SimulatedStore, type SimulatedWebhook } from './store.js';

const hourMs = 3_600_000;
/** Events are recorded during ten days. The last retries come half a day later. */
const spanMs = 240 * hourMs;
/** Two polls: a webhook that responds never waits for the requests of another. */
const fairMs = 1_000;

const realRules: Rules = {
  createLanes: (later, now) => new Lanes(later, now),
  judge,
  trustMs: limits.trustMs,
};

export interface Run {
  rules?: Partial<Rules>;
  /** Whether nodes die and pause, and the database goes away. */
  faults?: boolean;
  scheduleMs?: readonly number[];
}

export interface Figures {
  hours: number;
  deliveries: number;
  requests: number;
  /** Requests for deliveries that a receiver had already accepted. */
  repeated: number;
}

/** Runs days of schedules with one seed. Throws a broken promise that names the seed. */
export function simulate(seed: number, run: Run = {}): Figures {
  try {
    return new Simulation(seed, run).run();
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
  }
}

class Simulation {
  readonly #random: Random;
  readonly #clock = new VirtualClock();
  readonly #store = new SimulatedStore();
  readonly #checker: Checker;
  readonly #around: Surroundings;
  readonly #faults: boolean;
  readonly #receivers = new Map<string, { webhook: SimulatedWebhook; receiver: SimulatedReceiver }>();
  readonly #nodes: SimulatedNode[] = [];
  /** When very many events are recorded at once, and faults are most likely. */
  readonly #burstAtMs: number;
  /** The webhooks that get them. */
  #busy: SimulatedWebhook[] = [];
  #databaseOutUntilMs = 0;

  constructor(
    seed: number,
    { rules, faults = true, scheduleMs = [5_000, 300_000, hourMs, 12 * hourMs] }: Run,
  ) {
    this.#random = new Random(seed);
    this.#faults = faults;
    this.#burstAtMs = this.#random.between(hourMs, spanMs);
    this.#checker = new Checker(scheduleMs.length + 1);
    this.#around = {
      ...{ clock: this.#clock, store: this.#store, random: this.#random, checker: this.#checker },
      ...{ scheduleMs, receivers: this.#receivers, rules: { ...realRules, ...rules } },
      isDatabaseOut: () => this.#clock.nowMs < this.#databaseOutUntilMs,
    };
  }

  run(): Figures {
    this.#makeWebhooks();
    for (let count = this.#random.between(1, 3); count > 0; count -= 1) this.#startNode();
    this.#planRecordings();
    this.#planDeletions();
    if (this.#faults) this.#planFaults();
    this.#clock.run();
    this.#checker.finished(this.#store.all);
    if (!this.#faults) this.#checkFairness();
    return {
      hours: this.#clock.nowMs / hourMs,
      deliveries: this.#store.all.length,
      requests: this.#checker.requests,
      repeated: this.#checker.repeated,
    };
  }

  #makeWebhooks(): void {
    const random = this.#random;
    for (let index = 0; index < 12; index += 1) {
      // The first two stand for customers who do nothing wrong.
      const isQuick = index < 2;
      const fromMs = random.between(0, spanMs);
      const outage = { fromMs, toMs: isQuick ? fromMs : fromMs + random.between(0, 20) * hourMs };
      const webhook = {
        ...{ id: `WHK-${index}`, organizationId: `ORG-${index % 4}`, isDeleted: false },
        rateLimit: !isQuick && random.next() < 0.3 ? random.between(1, 20) : undefined,
      };
      const manner = isQuick ? 'good' : random.pick(manners);
      this.#receivers.set(webhook.id, { webhook, receiver: new SimulatedReceiver(manner, outage, random) });
    }
  }

  #startNode(): void {
    this.#nodes.push(new SimulatedNode(this.#around));
  }

  /** Records a few events now and then, and now and then very many, over ten days. */
  #planRecordings(): void {
    const webhooks = [...this.#receivers.values()].map(({ webhook }) => webhook);
    const quick = webhooks.slice(0, 2);
    // A webhook that has never responded gets less than one that has.
    this.#clock.at(0, () => this.#record(quick, 5));
    for (let index = 0; index < 40; index += 1) {
      const atMs = this.#random.between(hourMs, spanMs);
      this.#clock.at(atMs, () => this.#record(webhooks, this.#random.between(1, 2)));
    }
    const burstAtMs = this.#burstAtMs;
    this.#busy = [this.#random.pick(webhooks.slice(2)), this.#random.pick(webhooks.slice(2))];
    this.#clock.at(burstAtMs, () => this.#record(this.#busy, this.#random.between(100, 700)));
    for (let index = 0; index < 5; index += 1)
      this.#clock.at(burstAtMs + this.#random.between(100, 20_000), () => this.#record(quick, 1));
  }

  #record(webhooks: readonly SimulatedWebhook[], count: number): void {
    if (this.#around.isDatabaseOut()) return;
    const { nowMs } = this.#clock;
    const node = this.#random.pick(this.#nodes);
    const isAlive = node.isRunning;
    const recorded = this.#store.record(webhooks, count, node.room, nowMs);
    if (isAlive) node.accept(recorded);
    for (const other of this.#nodes) other.wakeForNext();
  }

  /** Deletes one webhook in the middle of its burst, and another one at any time. */
  #planDeletions(): void {
    const others = [...this.#receivers.values()].slice(2).map(({ webhook }) => webhook);
    const busyAtMs = this.#burstAtMs + this.#random.between(1_000, 60_000);
    this.#clock.at(busyAtMs, () => this.#delete(this.#busy[0]!));
    const deleted = this.#random.pick(others);
    this.#clock.at(this.#random.between(hourMs, spanMs), () => this.#delete(deleted));
  }

  #delete(webhook: SimulatedWebhook): void {
    this.#store.delete(webhook);
    // The response waits until no node trusts what it knew.
    this.#clock.in(limits.trustMs, () => this.#checker.deleted(webhook, this.#clock.nowMs));
  }

  #planFaults(): void {
    for (let index = 0; index < 12; index += 1) {
      // Every other fault strikes soon after the burst, while requests are in flight.
      const soonMs = this.#random.pick([300, 3_000, 60_000]);
      const atMs =
        index % 2 === 0
          ? this.#burstAtMs + this.#random.between(0, soonMs)
          : this.#random.between(hourMs, spanMs);
      this.#clock.at(atMs, () => {
        const node = this.#random.pick(this.#nodes);
        const fault = this.#random.pick(['kill', 'pause', 'database'] as const);
        let lastsMs = this.#random.between(1_000, 40_000);
        if (fault === 'database') {
          lastsMs *= 3;
          this.#databaseOutUntilMs = this.#clock.nowMs + lastsMs;
        } else if (node.isRunning) {
          if (fault === 'kill') node.kill();
          else node.pause(lastsMs);
        }
        this.#clock.in(lastsMs + 1, () => this.#repair());
      });
    }
  }

  /** Replaces dead nodes, and lets all of them look for what others have left. */
  #repair(): void {
    const alive = this.#nodes.filter((node) => !node.isDead);
    const missing = this.#nodes.length - alive.length;
    this.#nodes.splice(0, this.#nodes.length, ...alive);
    for (let count = 0; count < missing; count += 1) this.#startNode();
    this.#clock.in(60_000, () => {
      for (const node of this.#nodes) node.wakeForNext();
    });
  }

  /** Without faults, a webhook that responds gets its events at once, whatever the others do. */
  #checkFairness(): void {
    for (const delivery of this.#store.all) {
      if (!['WHK-0', 'WHK-1'].includes(delivery.webhook.id)) continue;
      const waitedMs = this.#checker.firstAttemptMs(delivery);
      if (waitedMs > fairMs) throw new Error(`${delivery.id} of a good webhook waited ${waitedMs} ms`);
    }
  }
}
