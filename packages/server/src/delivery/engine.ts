import type { Logger } from 'pino';
import { isDelivered, judge, type Outcome, type Verdict, type Withheld } from '../domain/delivery.js';
import type { Began } from '../domain/health.js';
import { deliveryFailed } from '../domain/service-event.js';
import { attempt, type Sender } from '../sending/attempt.js';
import type { WebhookDirectory, WebhookState } from '../sending/directory.js';
import { messageOf } from '../sending/message.js';
import type { Target } from '../sending/target.js';
import { Repeating } from '../signals/repeating.js';
import { within } from '../signals/within.js';
import type { Database, DatabaseTarget } from '../storage/database.js';
import type { LeasedDelivery } from '../storage/leased-delivery.js';
import { NotificationListener } from '../storage/notifications.js';
import type { RecordedBatch } from '../storage/recording.js';
import { noRoom, type Room } from '../storage/room.js';
import { attempted, givenUp, setAside } from '../storage/settlements.js';
import type { WebhookKey } from '../storage/webhooks.js';
import { Claimer } from './claimer.js';
import { Lanes, type Turn } from './lanes.js';
import { type LeaseChange, NodeLease } from './lease.js';
import { limits } from './limits.js';
import type { Condition, Ended } from './policy.js';
import { type Entry, Settler, type Written } from './settler.js';

export interface EngineOptions {
  database: Database;
  /** For the connection that listens for notifications. */
  target: DatabaseTarget;
  /** Logs failures of that connection. Undefined if the log lines about `database` already cover them. */
  listenLogger?: Logger | undefined;
  /** Whether no other node can run on this database. */
  alone: boolean;
  directory: WebhookDirectory;
  sender: Sender;
  logger: Logger;
  retryScheduleMs: readonly number[];
  timeoutMs: number;
  random: () => number;
  /** Called when the service has recorded its own events. */
  onRecorded: (batch: RecordedBatch) => void;
  /** Called after a webhook has been disabled because of its receiver. */
  onDisabled: (webhook: WebhookKey) => void;
  /** Called when outcomes have been written in one commit. */
  onSettled: (outcomes: number) => void;
  onAttempt: (delivery: LeasedDelivery, outcome: Outcome, verdict: Verdict, webhook: Target) => void;
}

/**
 * Delivers events. The methods follow the life of a delivery: a recording hands it to this node or a claim leases it;
 * it waits for its turn; it is attempted, judged and settled. Settlements report back to `#written`, claims to
 * `#dispatch`, and the lease to `#leaseChanged`.
 */
export class DeliveryEngine {
  readonly #options: EngineOptions;
  readonly #lanes = new Lanes((ms, work) => this.#later(ms, work));
  readonly #lease: NodeLease;
  readonly #settler: Settler;
  readonly #claimer: Claimer;
  readonly #listener: NotificationListener;
  #refreshing: Repeating | undefined;
  #outOfResourcesAtMs = Number.NEGATIVE_INFINITY;
  #drainUntilMs: number | undefined;
  #whenIdle: (() => void) | undefined;

  constructor(options: EngineOptions) {
    const { database, logger, timeoutMs, target, listenLogger } = options;
    this.#options = options;
    this.#lease = new NodeLease({ database, logger, attemptMs: timeoutMs }, (change) =>
      this.#leaseChanged(change),
    );
    this.#settler = new Settler({
      database,
      logger,
      room: () => this.room(),
      onWritten: (written) => this.#written(written),
      onGivenBack: (delivery, sign) => this.#lanes.countGivenBack(delivery, sign),
      // More attempts would only add outcomes that cannot be written.
      onLocked: (webhookIds) => this.#lanes.holdLocked(webhookIds),
      onUnlocked: (webhookIds) => {
        this.#lanes.releaseLocked(webhookIds);
        this.#pump();
      },
    });
    this.#claimer = new Claimer({
      database,
      logger,
      lanes: this.#lanes,
      node: () => this.#lease.id,
      onClaimed: (deliveries) => this.#dispatch(deliveries),
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

  get load(): { queued: number; inFlight: number } {
    return { queued: this.#lanes.queued, inFlight: this.#lanes.inFlight };
  }

  /** Returns the number of requests in flight for each webhook condition. */
  get inFlightByCondition(): Record<Condition, number> {
    return this.#lanes.inFlightByCondition();
  }

  /** Returns the room for deliveries that a recording can hand to this node. */
  room(): Room {
    const { id } = this.#lease;
    return id === undefined || this.#isStopping ? noRoom : this.#lanes.roomToRecord(id);
  }

  /** Takes over the deliveries that a recording handed to this node, right after the commit. */
  accept(batch: RecordedBatch): void {
    this.#options.directory.confirm(batch.matched, batch.askedAtMs);
    if (this.#lanes.recorded(batch.matched)) this.#claimer.wake(limits.wakeMs);
    // If the node got a new ID in the meantime, these deliveries are leased to the old ID and will be released with it.
    if (batch.leased.length > 0 && batch.room.node === this.#lease.id) this.#dispatch(batch.leased);
  }

  #dispatch(deliveries: readonly LeasedDelivery[]): void {
    this.#giveBack(this.#lanes.add(deliveries));
    this.#pump();
  }

  /** Starts attempts while slots are free. */
  #pump(): void {
    while (!this.#isStopping && this.#lease.coversAttempt && !this.#settler.isBehind) {
      const turn = this.#lanes.next();
      if (!turn) break;
      void this.#deliver(turn);
    }
  }

  #later(ms: number, work: () => void): void {
    const run = () => {
      work();
      this.#pump();
    };
    setTimeout(run, ms).unref();
  }

  async #deliver(turn: Turn): Promise<void> {
    const result = await this.#run(turn).catch((error: Error) => this.#failed(turn.delivery, error));
    const { surplus, wantsMore } = this.#lanes.ended(turn, result);
    this.#giveBack(surplus);
    if (wantsMore) this.#claimer.wake(limits.wakeMs);
    this.#pump();
    if (this.#lanes.inFlight === 0) this.#whenIdle?.();
  }

  /** Attempts one delivery, judges the outcome and passes it to the settler. */
  async #run(turn: Turn): Promise<Ended> {
    const { delivery } = turn;
    const { directory, sender, timeoutMs } = this.#options;
    const node = this.#lease.id;
    if (node === undefined) return notAttempted;
    const webhook = directory.peek(delivery.webhook_id) ?? (await this.#read(turn));
    if (webhook?.kind !== 'active' || !this.#lease.coversAttempt)
      return this.#wait(delivery, node, webhook?.kind ?? 'unread');
    const message = messageOf(delivery);
    if (message === undefined) {
      this.#settler.add({ node, settlement: { delivery, status: 'cancelled', attempts: delivery.attempts } });
      return notAttempted;
    }
    const { target } = webhook;
    this.#lanes.limit(turn, target.rateLimit);
    const began: Began = { at: new Date(sender.now()), monotonicMs: performance.now() };
    // The webhook may be deleted, disabled or changed while the connection opens.
    const mayStart = () => directory.peek(delivery.webhook_id)?.target === target;
    const span = sender.tracer?.attempt(delivery);
    const sent = span ? { ...message, traceparent: span.traceparent } : message;
    const ended = await attempt(sender, target, sent, timeoutMs, mayStart);
    const tookMs = performance.now() - began.monotonicMs;
    // Too late: most likely, our own shutdown has closed the connection. The outcome can no longer be written.
    const outcome: Outcome | Withheld = this.#settler.isStopped
      ? { kind: 'withheld', reason: 'shutdown' }
      : ended;
    span?.end(outcome);
    if (outcome.kind === 'withheld') return this.#wait(delivery, node, outcome.reason);
    this.#judge(delivery, node, outcome, began, target);
    return { kind: isDelivered(outcome) ? 'delivered' : 'failed', tookMs };
  }

  #judge(delivery: LeasedDelivery, node: number, outcome: Outcome, began: Began, target: Target): void {
    const { retryScheduleMs, random, onAttempt } = this.#options;
    const verdict = judge(outcome, delivery.attempts + 1, retryScheduleMs, random());
    this.#settler.health.note(delivery, outcome, began);
    const entry: Entry = { node, settlement: attempted(delivery, outcome, verdict, began.at, target.url) };
    if (verdict.kind === 'gone') entry.gone = target;
    if (verdict.kind === 'given_up') entry.event = deliveryFailed(target, givenUp(entry.settlement));
    this.#settler.add(entry);
    // The poll finds retries with longer waits: it knows when the next one is due.
    if (verdict.kind === 'retry' && verdict.waitMs < limits.pollMs)
      this.#claimer.wake(verdict.waitMs + limits.retryStepMs);
    onAttempt(delivery, outcome, verdict, target);
  }

  /**
   * Reads the webhook of a turn. Meanwhile, its lane starts nothing else: the rate limit may have changed,
   * and a whole window of requests could otherwise start before the new limit is known.
   */
  async #read(turn: Turn): Promise<WebhookState | undefined> {
    const { organization_id, webhook_id } = turn.delivery;
    this.#lanes.hold(turn.lane, 'read');
    const webhook = await this.#options.directory.get(organization_id, webhook_id).catch(() => undefined);
    if (webhook) this.#lanes.limit(turn, webhook.target?.rateLimit);
    this.#lanes.release(turn.lane, 'read');
    this.#pump();
    return webhook;
  }

  /**
   * Settles a delivery that cannot be attempted now, so that it waits in the database. If this node has stopped, the
   * delivery is already waiting there: its lease has been released, and the same attempt is made again.
   */
  #wait(delivery: LeasedDelivery, node: number, reason: Reason): Ended {
    if (reason === 'out_of_resources') this.#warnOutOfResources();
    if (reason === 'shutdown') this.#logCutOff(delivery);
    const waitMs: Record<Reason, number> = {
      unread: 0,
      active: 0,
      recalled: 0,
      sealed: limits.sealedWaitMs,
      out_of_resources: limits.outOfResourcesWaitMs,
      shutdown: 0,
      // Settling holds or ends the delivery, unless the webhook is active again by then.
      inactive: limits.trustMs,
    };
    this.#setAside(delivery, node, waitMs[reason]);
    return notAttempted;
  }

  #warnOutOfResources(): void {
    if (performance.now() - this.#outOfResourcesAtMs <= limits.outOfResourcesWaitMs) return;
    this.#outOfResourcesAtMs = performance.now();
    this.#options.logger.error(
      'cannot open another connection, so deliveries are waiting: raise the limit on open files (ulimit -n)',
    );
  }

  #logCutOff({ delivery_id, webhook_id, organization_id, event_id, type, attempts }: LeasedDelivery): void {
    this.#options.logger.info(
      { delivery_id, webhook_id, organization_id, event_id, type, attempt: attempts + 1 },
      'the shutdown interrupted an attempt; it does not count and will be repeated',
    );
  }

  /** Handles an unexpected error, which is a bug: the delivery is attempted again, and the others continue. */
  #failed(delivery: LeasedDelivery, error: Error): Ended {
    this.#options.logger.error(
      { delivery_id: delivery.delivery_id, err: error },
      'a delivery could not be attempted',
    );
    const { id } = this.#lease;
    if (id !== undefined) this.#setAside(delivery, id, limits.trustMs);
    return notAttempted;
  }

  /** Settles a delivery without an attempt: it waits in the database until any node claims it. */
  #setAside(delivery: LeasedDelivery, node: number, waitMs: number): void {
    this.#settler.add({ node, settlement: setAside(delivery, waitMs) });
  }

  #giveBack(deliveries: readonly LeasedDelivery[]): void {
    const { id: node } = this.#lease;
    if (node === undefined) return;
    for (const delivery of deliveries)
      this.#settler.add({ node, settlement: setAside(delivery, 0), isGivenBack: true });
  }

  #written({ outcomes, disabled, recorded }: Written): void {
    if (outcomes > 0) this.#options.onSettled(outcomes);
    for (const webhook of disabled) this.#options.onDisabled(webhook);
    if (recorded) {
      this.accept(recorded);
      this.#options.onRecorded(recorded);
    }
    // The pump stops while too many outcomes are unsettled.
    this.#pump();
  }

  #leaseChanged(change: LeaseChange): void {
    if (change === 'renewed') this.#pump();
    else if (change === 'released') this.#claimer.wake();
    else this.#lanes.clear();
  }

  /** Claims deliveries now, and again soon: commits that closely follow a notification are not announced. */
  #announced(): void {
    this.#claimer.wake();
    setTimeout(() => this.#claimer.wake(), limits.announcedMs).unref();
  }

  /** Releases all leases of this node, because it may hold some that it does not know about. */
  abandonLeases(): void {
    this.#lease.abandon();
  }

  /** Claims deliveries now, because held ones may have been released. */
  wake(): void {
    this.#claimer.wake();
  }

  get node(): number | undefined {
    return this.#lease.id;
  }

  get #isStopping(): boolean {
    return this.#drainUntilMs !== undefined;
  }

  /** Prevents new attempts from starting: the first step of a shutdown, while HTTP requests are still served. */
  pause(): void {
    this.#drainUntilMs ??= performance.now() + limits.drainMs;
  }

  /** Gives queued deliveries back, lets attempts in flight finish, and settles them. */
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

/** Why a delivery cannot be attempted now. `active`: the webhook is ready, but the lease would end too soon. */
type Reason = WebhookState['kind'] | Withheld['reason'] | 'unread';

const notAttempted: Ended = { kind: 'not attempted' };
