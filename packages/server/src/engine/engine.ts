import type { Logger } from 'pino';
import { type LeasedDelivery, noRoom, type RecordedBatch, type Room } from '../events/recording-store.js';
import { NotificationListener } from '../postgres/connection.js';
import type { Database, DatabaseTarget } from '../postgres/database.js';
import { Repeating, within } from '../signals/timers.js';
import type { WebhookKey } from '../webhooks/webhook-store.js';
import { Attempter, type AttempterOptions } from './attempter.js';
import { Claimer } from './claimer.js';
import { Lanes, type Turn } from './lanes.js';
import { type LeaseChange, NodeLease } from './lease.js';
import { limits } from './limits.js';
import type { Condition } from './policy.js';
import { givenBack } from './settlement-store.js';
import { Settler, type Written } from './settler.js';

/** The options of the engine, including those that it passes on to the attempter. */
export interface EngineOptions
  extends Pick<
    AttempterOptions,
    'directory' | 'sender' | 'logger' | 'retryScheduleMs' | 'timeoutMs' | 'random' | 'onAttempt'
  > {
  database: Database;
  /** For the connection that listens for notifications. */
  target: DatabaseTarget;
  /**
   * Logs failures of the listening connection. Undefined if it has the same target as `database`, whose failures are
   * logged anyway.
   */
  listenLogger?: Logger | undefined;
  /** How many requests all nodes together may have in flight to one webhook. */
  inFlightPerWebhook: number;
  /** Whether no other node can run on this database. */
  alone: boolean;
  /** Called after the engine has recorded events about deliveries or webhooks, such as `webhook.disabled`. */
  onRecorded: (batch: RecordedBatch) => void;
  /**
   * Called after the engine has disabled a webhook, because its receiver responded with 410 or all attempts have failed
   * for days.
   */
  onDisabled: (webhook: WebhookKey) => void;
  /** Called after each commit of the settler, with the number of deliveries that it wrote. */
  onSettled: (deliveries: number) => void;
}

/**
 * Delivers events. A delivery reaches this node through a recording (`accept`) or a claim (`#dispatch`), and waits in
 * the lane of its webhook. When `#pump` gives it its turn, the attempter sends it and decides what follows. The settler
 * writes the result and calls `#written`.
 */
export class DeliveryEngine {
  readonly #options: EngineOptions;
  readonly #lanes: Lanes;
  readonly #lease: NodeLease;
  readonly #settler: Settler;
  readonly #claimer: Claimer;
  readonly #attempter: Attempter;
  readonly #listener: NotificationListener;
  #refreshing: Repeating | undefined;
  /** How many attempts have started in this turn of the event loop. */
  #started = 0;
  /** When a shutdown stops waiting for attempts and outcomes. Undefined before a shutdown begins. */
  #drainUntilMs: number | undefined;
  /** Set during a shutdown. Called when no request is in flight any more. */
  #whenIdle: (() => void) | undefined;

  constructor(options: EngineOptions) {
    const { database, logger, timeoutMs, target, listenLogger } = options;
    this.#options = options;
    this.#lease = new NodeLease({ database, logger, attemptMs: timeoutMs }, (change) =>
      this.#leaseChanged(change),
    );
    this.#lanes = new Lanes(
      (ms, work) => this.#later(ms, work),
      undefined,
      () => this.#lease.shareOf(options.inFlightPerWebhook),
      ({ delivery_created_at: at }) => Date.now() - at.getTime() > limits.oldBacklogMs,
    );
    this.#settler = new Settler({
      database,
      logger,
      room: () => this.room(),
      onWritten: (written) => this.#written(written),
      onSurplus: (delivery, sign) => this.#lanes.countSurplus(delivery, sign),
    });
    this.#claimer = new Claimer({
      database,
      logger,
      lanes: this.#lanes,
      node: () => this.#lease.id,
      onClaimed: (deliveries) => this.#dispatch(deliveries),
    });
    this.#attempter = new Attempter({
      ...options,
      lanes: this.#lanes,
      lease: this.#lease,
      settler: this.#settler,
      onRead: () => this.#pump(),
      // Later retries need no extra claim: the regular claims, which run at least every `pollMs`, find them.
      onRetry: (waitMs) => waitMs < limits.pollMs && this.#claimer.wake(waitMs + limits.retryStepMs),
    });
    const announced = () => this.#announced();
    this.#listener = new NotificationListener(target, 'posthorn_deliveries', announced, listenLogger);
  }

  async start(): Promise<void> {
    const { alone, directory, logger } = this.#options;
    await this.#lease.start(alone);
    await this.#listener.start();
    // If this fails, the entries in the directory become too old to use, and each attempt reads its webhook itself.
    const refresh = () => directory.refresh(this.#lanes.inUse()).catch(() => undefined);
    this.#refreshing = new Repeating(limits.refreshEveryMs, refresh, logger);
    this.#claimer.wake();
  }

  get load(): { queued: number; in_flight: number; settling: number } {
    const { queued, inFlight } = this.#lanes;
    return { queued, in_flight: inFlight, settling: this.#settler.outcomes };
  }

  /** Returns the number of requests in flight for each webhook condition. */
  get inFlightByCondition(): Record<Condition, number> {
    return this.#lanes.inFlightByCondition();
  }

  /** Returns how many deliveries a recording may hand to this node. */
  room(): Room {
    const { id } = this.#lease;
    return id === undefined || this.#isStopping ? noRoom : this.#lanes.roomToRecord(id);
  }

  /** Takes the deliveries that a recording handed to this node. Call it right after the commit. */
  accept(batch: RecordedBatch): void {
    this.#options.directory.confirm(batch.matched, batch.askedAtMs);
    if (this.#lanes.recorded(batch.matched)) this.#claimer.wake(limits.wakeMs);
    // If this node got a new ID after the recording, the leases belong to the old ID and will be released with it.
    if (batch.leased.length > 0 && batch.room.node === this.#lease.id) this.#dispatch(batch.leased);
  }

  #dispatch(deliveries: readonly LeasedDelivery[]): void {
    this.#giveBack(this.#lanes.add(deliveries));
    this.#pump();
  }

  /** Starts as many attempts as are allowed now. After a few, other work of this process has its turn. */
  #pump(): void {
    while (!this.#isStopping && this.#lease.coversAttempt && !this.#settler.isBehind) {
      if (this.#started >= limits.startsAtOnce) break;
      const turn = this.#lanes.next();
      if (!turn) break;
      if (this.#started === 0) setImmediate(() => this.#pumpAgain());
      this.#started += 1;
      void this.#deliver(turn);
    }
  }

  #pumpAgain(): void {
    this.#started = 0;
    this.#pump();
  }

  /** Runs `work` after `ms`, then starts the attempts that have become possible. */
  #later(ms: number, work: () => void): void {
    const run = () => {
      work();
      this.#pump();
    };
    setTimeout(run, ms).unref();
  }

  async #deliver(turn: Turn): Promise<void> {
    const { surplus, wantsMore } = this.#lanes.ended(turn, await this.#attempter.run(turn));
    this.#giveBack(surplus);
    if (wantsMore) this.#claimer.wake(limits.wakeMs);
    this.#pump();
    if (this.#lanes.inFlight === 0) this.#whenIdle?.();
  }

  /** Puts queued deliveries back into the database, where any node can claim them at once. */
  #giveBack(deliveries: readonly LeasedDelivery[]): void {
    const { id: node } = this.#lease;
    if (node === undefined) return;
    for (const delivery of deliveries)
      this.#settler.add({ node, settlement: givenBack(delivery, 0), isSurplus: true });
  }

  #written({ settled, disabled, recorded }: Written): void {
    if (settled > 0) this.#options.onSettled(settled);
    for (const webhook of disabled) this.#options.onDisabled(webhook);
    if (recorded) {
      this.accept(recorded);
      this.#options.onRecorded(recorded);
    }
    // The pump may have stopped because too many outcomes were unwritten.
    this.#pump();
  }

  #leaseChanged(change: LeaseChange): void {
    if (change === 'renewed') this.#pump();
    else if (change === 'released') this.#claimer.wake();
    else this.#lanes.clear();
  }

  /** Claims deliveries now, and again after `announcedMs`: commits shortly after a notification do not send one. */
  #announced(): void {
    this.#claimer.wake();
    setTimeout(() => this.#claimer.wake(), limits.announcedMs).unref();
  }

  /**
   * Gives up all leases of this node. Called when the response to a statement that leases deliveries was lost: the
   * statement may have leased deliveries that this node does not know about.
   */
  abandonLeases(): void {
    this.#lease.abandon();
  }

  /** Claims deliveries now. Called after a webhook has changed: it may have deliveries that were held until now. */
  wake(): void {
    this.#claimer.wake();
  }

  get node(): number | undefined {
    return this.#lease.id;
  }

  get #isStopping(): boolean {
    return this.#drainUntilMs !== undefined;
  }

  /** Prevents new attempts from starting. This is the first step of a shutdown: HTTP requests are still served. */
  pause(): void {
    this.#drainUntilMs ??= performance.now() + limits.drainMs;
  }

  /**
   * Gives back queued deliveries, waits for attempts in flight, settles them, and releases all leases. Waits no longer
   * than `drainMs` after `pause` was called.
   */
  async stop(): Promise<void> {
    this.pause();
    const deadlineMs = this.#drainUntilMs ?? 0;
    await this.#listener.stop();
    await this.#claimer.stop();
    this.#giveBack(this.#lanes.clear());
    if (this.#lanes.inFlight > 0) {
      const idle = new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
      await within(Math.max(0, deadlineMs - performance.now()), idle);
    }
    await this.#refreshing?.stop();
    await this.#settler.stop(deadlineMs);
    await this.#lease.stop().catch(() => undefined);
  }
}
