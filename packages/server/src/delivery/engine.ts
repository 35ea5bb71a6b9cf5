import type { Logger } from 'pino';
import { isDelivered, judge, type Outcome, type Verdict } from '../domain/delivery.js';
import { envelopeText } from '../domain/envelope.js';
import { deliveryFailed } from '../domain/own-event.js';
import type { Database, DatabaseTarget } from '../storage/database.js';
import { endWaiting, type LeasedDelivery, type Settlement } from '../storage/deliveries.js';
import type { Placement, RecordedBatch } from '../storage/events.js';
import { NotificationListener } from '../storage/listener.js';
import { countOtherNodes } from '../storage/nodes.js';
import { attempt, type Sender, type Target } from './attempt.js';
import { Claimer } from './claimer.js';
import { type Standing, trustMs, type WebhookDirectory } from './directory.js';
import { Dispatcher } from './dispatcher.js';
import { HealthKeeper } from './health-keeper.js';
import { NodeLease } from './lease.js';
import { type Entry, Settler } from './settler.js';

export interface EngineOptions {
  database: Database;
  /** For the connection that listens for notifications. */
  target: DatabaseTarget;
  /** Nobody else can be running on this database. */
  alone: boolean;
  directory: WebhookDirectory;
  sender: Sender;
  logger: Logger;
  retryScheduleMs: readonly number[];
  timeoutMs: number;
  random: () => number;
  onRecorded: () => void;
  onAttempt: (outcome: Outcome, verdict: Verdict['kind']) => void;
}

/** A retry can be claimed once its settlement is written. */
const settledWithinMs = 40;
const heldBackMs = 60_000;
const endAtOnce = 1_000;
/** From the first step of a stop: the process has 10 s for all of it. */
const drainMsMax = 8_500;

/**
 * A delivery's life, top to bottom: it is born leased to this node or claimed by it, waits for its turn,
 * is attempted, judged and settled.
 */
export class DeliveryEngine {
  readonly #options: EngineOptions;
  readonly #lease: NodeLease;
  readonly #dispatcher: Dispatcher;
  readonly #claimer: Claimer;
  readonly #settler: Settler;
  readonly #listener: NotificationListener;
  readonly #health: HealthKeeper;
  readonly #ending = new Set<string>();
  #stopping = false;
  #drainUntilMs: number | undefined;

  constructor(options: EngineOptions) {
    const { database, logger } = options;
    this.#options = options;
    this.#lease = new NodeLease(database, logger, options.timeoutMs);
    this.#dispatcher = new Dispatcher({
      run: (delivery) => this.#run(delivery),
      mayStart: () => !this.#stopping && this.#lease.coversAttempt,
      onRoom: () => this.#claimer.wake(),
      onSurplus: (deliveries) => this.#giveBack(deliveries),
    });
    this.#settler = new Settler(database, logger, {
      placement: () => this.placement(),
      onRecorded: (batch) => {
        if (batch) this.accept(batch);
        options.onRecorded();
      },
      onDisabled: (id) => options.directory.forget(id),
    });
    this.#claimer = new Claimer(database, logger, {
      node: () => this.#lease.id,
      room: () => this.#dispatcher.room,
      busy: () => this.#dispatcher.busy(),
      onClaimed: (deliveries, full) => {
        this.#dispatcher.add(deliveries);
        for (const { webhook_id: id } of deliveries) this.#dispatcher.expectMore(id, full.has(id));
      },
    });
    this.#health = new HealthKeeper({
      ...{ database, logger, now: options.sender.now },
      placement: () => this.placement(),
      onDisabled: (webhookId, batch) => {
        options.directory.forget(webhookId);
        this.accept(batch);
        options.onRecorded();
      },
    });
    this.#listener = new NotificationListener(options.target, 'posthorn_deliveries', () =>
      this.#claimer.wake(),
    );
    this.#lease.onReleased = () => this.#claimer.wake();
    this.#lease.onRenewed = () => this.#dispatcher.pump();
    this.#lease.onLost = () => void this.#dispatcher.takeQueued();
    database.onLeaseInDoubt = () => this.#lease.abandon();
  }

  async start(): Promise<void> {
    await this.#lease.start(this.#options.alone);
    await this.#listener.start();
    this.#claimer.start();
  }

  /** Where deliveries of events that are about to be recorded go. */
  placement(): Placement {
    return this.#dispatcher.placement(this.#lease.id);
  }

  /** Takes over what was born leased to this node: straight from the commit, no claim, no second read. */
  accept(batch: RecordedBatch): void {
    // Under a name that was given up meanwhile: they go back to the pool with it.
    if (batch.leased.length > 0 && batch.node === this.#lease.id) this.#dispatcher.add(batch.leased);
  }

  get inFlight(): number {
    return this.#dispatcher.inFlight;
  }

  get queued(): number {
    return this.#dispatcher.queued;
  }

  async #run(delivery: LeasedDelivery): Promise<'delivered' | 'failed' | 'not attempted'> {
    const node = this.#lease.id;
    if (node === undefined) return 'not attempted';
    const standing = await this.#standing(delivery);
    const putBack = this.#putBack(delivery, standing);
    if (putBack) {
      this.#settler.add({ node, settlement: putBack });
      return 'not attempted';
    }
    const target = (standing as { target: Target }).target;
    const attemptedAt = new Date(this.#options.sender.now());
    const outcome = await this.#attempt(delivery, target);
    const verdict = judge(
      outcome,
      delivery.attempts + 1,
      this.#options.retryScheduleMs,
      this.#options.random(),
    );
    this.#settler.add({ node, ...this.#conclude(delivery, target, outcome, verdict, attemptedAt) });
    this.#health.note(delivery.organization_id, delivery.webhook_id, outcome, attemptedAt);
    this.#options.onAttempt(outcome, verdict.kind);
    this.#log(delivery, outcome, verdict);
    return isDelivered(outcome) ? 'delivered' : 'failed';
  }

  async #standing(delivery: LeasedDelivery): Promise<Standing | undefined> {
    const { directory } = this.#options;
    const { organization_id: organizationId, webhook_id: webhookId } = delivery;
    const fresh = directory.peek(organizationId, webhookId);
    return fresh ?? (await directory.get(organizationId, webhookId).catch(() => undefined));
  }

  /** What is settled instead of an attempt where none may be made now, or undefined where one may. */
  #putBack(delivery: LeasedDelivery, standing: Standing | undefined): Settlement | undefined {
    const unchanged = { ...keyOf(delivery), attempts: delivery.attempts };
    const later = (ms: number) => new Date(this.#options.sender.now() + ms);
    if (standing === undefined || !this.#lease.coversAttempt)
      return { ...unchanged, status: 'pending', due_at: later(0) };
    if (delivery.payload === null) return { ...unchanged, status: 'cancelled' };
    switch (standing.kind) {
      case 'active':
        return undefined;
      case 'unverified':
        // Not for long: it may be active by now, and while it is not, it is not claimed again.
        return { ...unchanged, status: 'pending', due_at: later(trustMs) };
      case 'sealed':
        return { ...unchanged, status: 'pending', due_at: later(heldBackMs) };
      case 'disabled':
        void this.#endWaiting(delivery, 'failed');
        return { ...unchanged, status: 'failed', error: 'disabled' };
      case 'deleted':
        void this.#endWaiting(delivery, 'cancelled');
        return { ...unchanged, status: 'cancelled' };
    }
  }

  #attempt(delivery: LeasedDelivery, target: Target): Promise<Outcome> {
    const head = {
      id: delivery.event_id,
      type: delivery.type,
      created_at: delivery.event_created_at,
      organization_id: delivery.organization_id,
      workspace_id: delivery.workspace_id,
    };
    const body = Buffer.from(envelopeText(head, delivery.payload ?? '{}'));
    const message = {
      id: delivery.event_id,
      body,
      delivery: { id: delivery.delivery_id, attempt: delivery.attempts + 1 },
    };
    return attempt(this.#options.sender, target, message, this.#options.timeoutMs);
  }

  #conclude(
    delivery: LeasedDelivery,
    target: Target,
    outcome: Outcome,
    verdict: Verdict,
    attemptedAt: Date,
  ): Omit<Entry, 'node'> {
    const answered = outcome.kind === 'answered';
    // Written out field by field: it is made for every attempt, and spreading showed in the profile.
    const settlement: Settlement = {
      organization_id: delivery.organization_id,
      webhook_id: delivery.webhook_id,
      created_at: delivery.delivery_created_at,
      id: delivery.delivery_id,
      status: verdict.kind === 'delivered' ? 'success' : verdict.kind === 'retry' ? 'pending' : 'failed',
      attempts: delivery.attempts + 1,
      attempted_at: attemptedAt,
      http_status: answered ? outcome.httpStatus : null,
      error: answered ? null : outcome.error,
      duration_ms: outcome.durationMs,
      response: answered ? outcome.response : null,
    };
    switch (verdict.kind) {
      case 'delivered':
        return { settlement };
      case 'retry': {
        settlement.due_at = new Date(this.#options.sender.now() + verdict.waitMs);
        this.#claimer.wakeAt(Date.now() + verdict.waitMs + settledWithinMs);
        return { settlement };
      }
      case 'gone':
        return { settlement, gone: target };
      case 'exhausted':
        return {
          settlement,
          event: deliveryFailed(target, {
            delivery_id: delivery.delivery_id,
            event_id: delivery.event_id,
            event_type: delivery.type,
            attempts: settlement.attempts,
            http_status: answered ? outcome.httpStatus : null,
            error: answered ? null : outcome.error,
            last_attempt_at: attemptedAt.toISOString(),
          }),
        };
    }
  }

  /** Ends what still waits for a webhook that takes nothing any more, however much it is. */
  async #endWaiting(delivery: LeasedDelivery, status: 'failed' | 'cancelled'): Promise<void> {
    const webhook = { organization_id: delivery.organization_id, id: delivery.webhook_id };
    if (this.#ending.has(webhook.id)) return;
    this.#ending.add(webhook.id);
    const error = status === 'failed' ? 'disabled' : null;
    try {
      while ((await endWaiting(this.#options.database, webhook, { status, error }, endAtOnce)) === endAtOnce);
    } catch (error) {
      this.#options.logger.warn(
        { reason: (error as Error).message },
        'waiting deliveries could not be ended yet',
      );
    } finally {
      this.#ending.delete(webhook.id);
    }
  }

  /** After a webhook was deleted or disabled: resolves when no node will send anything for it any more. */
  async forgetEverywhere(webhookId: string): Promise<void> {
    this.#options.directory.forget(webhookId);
    if (await this.isAlone()) return;
    await new Promise((waited) => setTimeout(waited, trustMs));
  }

  async isAlone(): Promise<boolean> {
    return this.#options.alone || (await countOtherNodes(this.#options.database, this.#lease.id ?? 0)) === 0;
  }

  #log(delivery: LeasedDelivery, outcome: Outcome, verdict: Verdict): void {
    const { logger } = this.#options;
    if (!logger.isLevelEnabled('info')) return;
    logger.info(
      {
        delivery_id: delivery.delivery_id,
        webhook_id: delivery.webhook_id,
        organization_id: delivery.organization_id,
        event_id: delivery.event_id,
        type: delivery.type,
        attempt: delivery.attempts + 1,
        http_status: outcome.kind === 'answered' ? outcome.httpStatus : null,
        error: outcome.kind === 'answered' ? null : outcome.error,
        duration_ms: outcome.durationMs,
        verdict: verdict.kind,
      },
      'delivery',
    );
  }

  /** Back to the database, for whoever has room for them. */
  #giveBack(deliveries: readonly LeasedDelivery[]): void {
    const node = this.#lease.id;
    if (node === undefined) return;
    const due_at = new Date(this.#options.sender.now());
    for (const delivery of deliveries) {
      const settlement = {
        ...keyOf(delivery),
        attempts: delivery.attempts,
        status: 'pending' as const,
        due_at,
      };
      this.#settler.add({ node, settlement });
    }
  }

  /** Starts no further attempt; the first step of a stop, while requests are still being answered. */
  pause(): void {
    this.#stopping = true;
    this.#drainUntilMs ??= performance.now() + drainMsMax;
  }

  /** Nothing new; what is on the wire finishes and is settled; the rest is given back. */
  async stop(): Promise<void> {
    this.pause();
    const deadlineMs = this.#drainUntilMs ?? performance.now();
    await this.#listener.stop();
    await this.#claimer.stop();
    this.#giveBack(this.#dispatcher.takeQueued());
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<void>((late) => {
      timer = setTimeout(late, Math.max(0, deadlineMs - performance.now()));
    });
    await Promise.race([this.#dispatcher.close(), deadline]);
    clearTimeout(timer);
    await this.#settler.drain(deadlineMs);
    await this.#health.stop();
    await this.#lease.stop().catch(() => undefined);
  }
}

function keyOf(delivery: LeasedDelivery) {
  return {
    organization_id: delivery.organization_id,
    webhook_id: delivery.webhook_id,
    created_at: delivery.delivery_created_at,
    id: delivery.delivery_id,
  };
}
