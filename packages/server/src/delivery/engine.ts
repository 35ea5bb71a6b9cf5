import type { Logger } from 'pino';
import { isDelivered, judge, type Outcome, type Verdict, type Withheld } from '../domain/delivery.js';
import { envelopeText } from '../domain/envelope.js';
import { deliveryFailed } from '../domain/service-event.js';
import { attempt, type Sender } from '../sending/attempt.js';
import type { WebhookDirectory, WebhookState } from '../sending/directory.js';
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
import { NodeLease } from './lease.js';
import { limits } from './limits.js';
import type { Condition, Ended } from './policy.js';
import { type Entry, Settler, type Written } from './settler.js';

export interface EngineOptions {
  database: Database;
  /** For the connection that listens for notifications. */
  target: DatabaseTarget;
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
  /** Called when a webhook was disabled because of its receiver. */
  onDisabled: (webhook: WebhookKey) => void;
  /** Called when outcomes have been written in one commit. */
  onSettled: (outcomes: number) => void;
  onAttempt: (delivery: LeasedDelivery, outcome: Outcome, verdict: Verdict, webhook: Target) => void;
}

/**
 * The life of a delivery, top to bottom: a recording hands it to this node or a claim leases it; it waits for its
 * turn; it is attempted, judged and settled. Three results flow back: from settlements (`#written`), claims
 * (`#dispatch`) and the lease (`#leaseChanged`).
 */
export class DeliveryEngine {
  readonly #options: EngineOptions;
  readonly #lanes = new Lanes();
  readonly #lease: NodeLease;
  readonly #settler: Settler;
  readonly #claimer: Claimer;
  readonly #listener: NotificationListener;
  #refreshing: Repeating | undefined;
  #outOfResourcesAtMs = Number.NEGATIVE_INFINITY;
  #drainUntilMs: number | undefined;
  #whenIdle: (() => void) | undefined;

  constructor(options: EngineOptions) {
    const { database, logger, timeoutMs, target, sender } = options;
    this.#options = options;
    this.#lease = new NodeLease({ database, logger, attemptMs: timeoutMs }, (change) =>
      this.#leaseChanged(change),
    );
    this.#settler = new Settler({
      ...{ database, logger, now: sender.now },
      room: () => this.room(),
      onWritten: (written) => this.#written(written),
    });
    this.#claimer = new Claimer({
      ...{ database, logger, lanes: this.#lanes },
      node: () => this.#lease.id,
      onClaimed: (deliveries) => this.#dispatch(deliveries),
    });
    this.#listener = new NotificationListener(target, 'posthorn_deliveries', () => this.#announced());
  }

  async start(): Promise<void> {
    const { alone, directory, logger } = this.#options;
    await this.#lease.start(alone);
    await this.#listener.start();
    // If this fails, entries become too old to use, and the attempts that need them report the failure.
    const refresh = () => directory.refresh(this.#lanes.inUse()).catch(() => undefined);
    this.#refreshing = new Repeating(limits.refreshEveryMs, refresh, logger);
    this.#claimer.wake();
  }

  get load(): { queued: number; inFlight: number } {
    return { queued: this.#lanes.queued, inFlight: this.#lanes.underWay };
  }

  /** Returns the requests under way by the condition of their webhook. */
  get inFlightByCondition(): Record<Condition, number> {
    return this.#lanes.underWayByCondition();
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
    // If the node got a new id in the meantime, they are released with the old one.
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
    for (const { lane, waitMs } of this.#lanes.takePauses()) {
      const resume = () => {
        this.#lanes.resume(lane);
        this.#pump();
      };
      setTimeout(resume, waitMs).unref();
    }
  }

  async #deliver(turn: Turn): Promise<void> {
    const result = await this.#run(turn).catch((error: Error) => this.#failed(turn.delivery, error));
    const { restMs, surplus, wantsMore } = this.#lanes.ended(turn, result);
    this.#giveBack(surplus);
    if (wantsMore) this.#claimer.wake(limits.wakeMs);
    this.#pump();
    if (this.#lanes.underWay === 0) this.#whenIdle?.();
    if (restMs === 0) return;
    const rested = () => {
      this.#lanes.rested(turn);
      this.#pump();
    };
    setTimeout(rested, restMs).unref();
  }

  /** Attempts one delivery, judges the outcome and passes it to the settler. */
  async #run(turn: Turn): Promise<Ended> {
    const { delivery } = turn;
    const node = this.#lease.id;
    if (node === undefined) return { kind: 'not attempted' };
    const { directory } = this.#options;
    const state = directory.peek(delivery.webhook_id) ?? (await this.#read(turn));
    const target = this.#targetOf(state, delivery, node);
    if (target === undefined || delivery.payload === null) return { kind: 'not attempted' };
    this.#lanes.limit(turn, target.rateLimit);
    const attemptedAt = new Date(this.#options.sender.now());
    const startedMs = performance.now();
    const outcome = await this.#attempt(delivery, delivery.payload, target);
    const tookMs = performance.now() - startedMs;
    if (outcome.kind === 'withheld') {
      this.#setAside(delivery, node, this.#waitAfter(outcome));
      return { kind: 'not attempted' };
    }
    const { retryScheduleMs, random, onAttempt } = this.#options;
    const verdict = judge(outcome, delivery.attempts + 1, retryScheduleMs, random());
    this.#settler.health.note(delivery, outcome, attemptedAt);
    const entry: Entry = { node, settlement: attempted(delivery, outcome, verdict, attemptedAt, target.url) };
    if (verdict.kind === 'gone') entry.gone = target;
    if (verdict.kind === 'given_up') entry.event = deliveryFailed(target, givenUp(entry.settlement));
    this.#settler.add(entry);
    // The poll finds retries with longer waits: it knows when the next one is due.
    if (verdict.kind === 'retry' && verdict.waitMs < limits.pollMs)
      this.#claimer.wake(verdict.waitMs + limits.retryStepMs);
    onAttempt(delivery, outcome, verdict, target);
    return { kind: isDelivered(outcome) ? 'delivered' : 'failed', tookMs };
  }

  /**
   * Reads the webhook of a turn. Its lane starts nothing else meanwhile, because the rate limit may have changed: a
   * whole window used to start before a new limit was known.
   */
  async #read(turn: Turn): Promise<WebhookState | undefined> {
    const { organization_id, webhook_id } = turn.delivery;
    this.#lanes.hold(turn);
    const state = await this.#options.directory.get(organization_id, webhook_id).catch(() => undefined);
    if (state) this.#lanes.limit(turn, state.target?.rateLimit);
    this.#lanes.resume(turn.lane);
    this.#pump();
    return state;
  }

  /** Returns where to send. If the delivery cannot be attempted now, settles it and returns undefined. */
  #targetOf(state: WebhookState | undefined, delivery: LeasedDelivery, node: number): Target | undefined {
    if (state === undefined || !this.#lease.coversAttempt) this.#setAside(delivery, node, 0);
    else if (state.kind === 'sealed') this.#setAside(delivery, node, limits.sealedWaitMs);
    // Settling holds or ends the delivery, unless the webhook is active again by then.
    else if (state.kind === 'idle') this.#setAside(delivery, node, limits.trustMs);
    else if (delivery.payload === null)
      this.#settler.add({ node, settlement: { delivery, status: 'cancelled', attempts: delivery.attempts } });
    else return state.target;
    return undefined;
  }

  #attempt(delivery: LeasedDelivery, payload: string, target: Target): Promise<Outcome | Withheld> {
    const { directory, sender, timeoutMs } = this.#options;
    const { event_id: id, event_created_at: created_at, type, organization_id, workspace_id } = delivery;
    const message = {
      id,
      body: Buffer.from(envelopeText({ id, type, created_at, organization_id, workspace_id }, payload)),
      subject: delivery.subject,
      actor: delivery.actor,
      delivery: { id: delivery.delivery_id, attempt: delivery.attempts + 1 },
    };
    // The webhook may be deleted, disabled or changed while the connection opens.
    const mayStart = () => directory.peek(delivery.webhook_id)?.target === target;
    return attempt(sender, target, message, timeoutMs, mayStart);
  }

  #waitAfter({ reason }: Withheld): number {
    if (reason !== 'out_of_resources') return 0;
    if (performance.now() - this.#outOfResourcesAtMs > limits.outOfResourcesWaitMs) {
      this.#outOfResourcesAtMs = performance.now();
      this.#options.logger.error(
        'cannot open another connection: raise the limit of open files (ulimit -n); deliveries wait',
      );
    }
    return limits.outOfResourcesWaitMs;
  }

  /** Handles a bug in the attempt of one delivery: it is attempted again, and all others continue. */
  #failed(delivery: LeasedDelivery, error: Error): Ended {
    this.#options.logger.error(
      { delivery_id: delivery.delivery_id, err: error },
      'a delivery could not be attempted',
    );
    const { id } = this.#lease;
    if (id !== undefined) this.#setAside(delivery, id, limits.trustMs);
    return { kind: 'not attempted' };
  }

  /** Settles a delivery without an attempt: it waits in the database for any node. */
  #setAside(delivery: LeasedDelivery, node: number, waitMs: number): void {
    this.#settler.add({ node, settlement: setAside(delivery, waitMs) });
  }

  #giveBack(deliveries: readonly LeasedDelivery[]): void {
    const { id } = this.#lease;
    if (id !== undefined) for (const delivery of deliveries) this.#setAside(delivery, id, 0);
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

  #leaseChanged(change: 'renewed' | 'released' | 'lost'): void {
    if (change === 'renewed') this.#pump();
    else if (change === 'released') this.#claimer.wake();
    else this.#lanes.clear();
  }

  /** Claims now, and again shortly: commits right after a notification are not announced. */
  #announced(): void {
    this.#claimer.wake();
    setTimeout(() => this.#claimer.wake(), limits.announcedMs).unref();
  }

  /** Releases all leases of this node, because it may hold some that it does not know about. */
  abandonLeases(): void {
    this.#lease.abandon();
  }

  /** Claims now, because held deliveries may have been released. */
  wake(): void {
    this.#claimer.wake();
  }

  get node(): number | undefined {
    return this.#lease.id;
  }

  get #isStopping(): boolean {
    return this.#drainUntilMs !== undefined;
  }

  /** Starts no further attempts. This is the first step of a stop, while requests are still being served. */
  pause(): void {
    this.#drainUntilMs ??= performance.now() + limits.drainMs;
  }

  /** Gives queued deliveries back, lets attempts under way finish, and settles them. */
  async stop(): Promise<void> {
    this.pause();
    const deadlineMs = this.#drainUntilMs ?? 0;
    await this.#listener.stop();
    await this.#claimer.stop();
    this.#giveBack(this.#lanes.clear());
    if (this.#lanes.underWay > 0) {
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
