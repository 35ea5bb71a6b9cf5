import type { Logger } from 'pino';
import { isDelivered, judge, type Outcome, type Verdict, type Withheld } from '../domain/delivery.js';
import { envelopeText } from '../domain/envelope.js';
import { Repeating } from '../signals/repeating.js';
import type { Database, DatabaseTarget } from '../storage/database.js';
import type { LeasedDelivery } from '../storage/leased-delivery.js';
import { NotificationListener } from '../storage/listener.js';
import { countOtherNodes } from '../storage/nodes.js';
import { announcedShares, type Placement, type RecordedBatch } from '../storage/recording.js';
import type { Settlement } from '../storage/settlements.js';
import type { WebhookKey } from '../storage/webhooks.js';
import { attempt, type Sender, type Target } from './attempt.js';
import { Claimer } from './claimer.js';
import { conclude, setAside } from './conclusion.js';
import { refreshEveryMs, type Standing, trustMs, type WebhookDirectory } from './directory.js';
import { Dispatcher } from './dispatcher.js';
import { Endings } from './endings.js';
import { HealthKeeper } from './health-keeper.js';
import { NodeLease } from './lease.js';
import { Settler } from './settler.js';

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
  onRecorded: (batch: RecordedBatch) => void;
  onAttempt: (outcome: Outcome, verdict: Verdict['kind']) => void;
}

/** A retry can be claimed once its settlement is written. */
const settledWithinMs = 40;
/** How late a retry may be claimed, as a part of the time it waited: retries that are due at about one time go together. */
const retryLateness = 0.05;
const heldBackMs = 5_000;
/** How long deliveries wait for a machine that has no file or memory left to open a connection. */
const exhaustedMs = 2_000;
/** How long the answer to whoever disables or deletes a webhook waits for its deliveries to end. */
const endWithinMs = 2_000;
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
  readonly #endings: Endings;
  #refreshing: Repeating | undefined;
  #exhaustedAtMs = Number.NEGATIVE_INFINITY;
  #stopping = false;
  #drainUntilMs: number | undefined;

  constructor(options: EngineOptions) {
    const { database, logger } = options;
    this.#options = options;
    this.#lease = new NodeLease(database, logger, options.timeoutMs);
    this.#endings = new Endings(database, options.directory, logger);
    this.#dispatcher = new Dispatcher({
      run: (delivery) => this.#run(delivery),
      mayStart: () => !this.#stopping && this.#lease.coversAttempt && !this.#settler.isBehind,
      onRoom: () => this.#claimer.wakeSoon(),
      onSurplus: (deliveries) => this.#giveBack(deliveries),
    });
    this.#settler = new Settler(database, logger, {
      beforeWriting: (outcomes) => this.#health.catchUp(outcomes),
      afterWriting: () => {
        this.#dispatcher.pump();
        return this.#health.giveUpFailing();
      },
      onRetries: (webhooks) => this.#endings.retried(webhooks),
      placement: () => this.placement(),
      onRecorded: (batch) => {
        this.accept(batch);
        options.onRecorded(batch);
      },
      onDisabled: (webhook) => void this.#forget(webhook),
    });
    this.#claimer = new Claimer(database, logger, {
      node: () => this.#lease.id,
      room: () => this.#dispatcher.room,
      standing: () => this.#dispatcher.standing(),
      onAnnounced: (shares) => this.#dispatcher.announced(shares),
      onDue: (deliveries) => this.#dispatcher.add(deliveries, true),
      onBundled: (deliveries) => this.#dispatcher.add(deliveries),
      onLeft: (left) => this.#dispatcher.expect(left),
    });
    this.#health = new HealthKeeper({
      ...{ database, logger, now: options.sender.now },
      placement: () => this.placement(),
      onDisabled: (webhook, batch) => {
        void this.#forget(webhook);
        this.accept(batch);
        options.onRecorded(batch);
      },
    });
    this.#listener = new NotificationListener(options.target, 'posthorn_deliveries', (payload) =>
      this.#claimer.announce(announcedShares(payload)),
    );
    this.#lease.onReleased = () => this.#claimer.wake();
    this.#lease.onRenewed = () => this.#dispatcher.pump();
    this.#lease.onLost = () => void this.#dispatcher.takeQueued();
  }

  async start(): Promise<void> {
    await this.#lease.start(this.#options.alone);
    await this.#listener.start();
    const { directory, timeoutMs, logger } = this.#options;
    // What cannot be read anew is not acted on any more; those who find that out say so.
    const refresh = () => directory.refresh(timeoutMs).catch(() => undefined);
    this.#refreshing = new Repeating(refreshEveryMs, refresh, logger);
    this.#claimer.start();
  }

  /** Where deliveries of events that are about to be recorded go. */
  placement(): Placement {
    return this.#dispatcher.placement(this.#lease.id);
  }

  /** Something may be leased to this node without its knowledge. */
  abandonLeases(): void {
    this.#lease.abandon();
  }

  /** Takes over what was born leased to this node: straight from the commit, no claim, no second read. */
  accept(batch: RecordedBatch): void {
    this.#dispatcher.left(batch.left);
    // Under a name that was given up meanwhile: they go back to the pool with it.
    if (batch.leased.length > 0 && batch.placement.node === this.#lease.id)
      this.#dispatcher.add(batch.leased);
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
    const { directory, sender, retryScheduleMs, random, onAttempt } = this.#options;
    const standing = directory.peek(delivery.webhook_id) ?? (await this.#standing(delivery));
    if (standing?.kind !== 'active' || delivery.payload === null || !this.#lease.coversAttempt) {
      this.#settler.add({ node, settlement: this.#putBack(delivery, standing) });
      return 'not attempted';
    }
    const { target } = standing;
    const attemptedAt = new Date(sender.now());
    const outcome = await this.#attempt(delivery, delivery.payload, target);
    if (outcome.kind === 'withheld') {
      this.#settler.add({ node, settlement: this.#withheld(delivery, outcome) });
      return 'not attempted';
    }
    const verdict = judge(outcome, delivery.attempts + 1, retryScheduleMs, random());
    if (verdict.kind === 'retry') {
      const dueAtMs = Date.now() + verdict.waitMs + settledWithinMs;
      this.#claimer.expectRetry(delivery.webhook_id, dueAtMs, verdict.waitMs * retryLateness);
    }
    this.#health.note(delivery.organization_id, delivery.webhook_id, outcome, attemptedAt);
    this.#settler.add({ node, ...conclude(delivery, target, outcome, verdict, attemptedAt) });
    onAttempt(outcome, verdict.kind);
    this.#log(delivery, outcome, verdict);
    return isDelivered(outcome) ? 'delivered' : 'failed';
  }

  #standing(delivery: LeasedDelivery): Promise<Standing | undefined> {
    const { organization_id: organizationId, webhook_id: webhookId } = delivery;
    return this.#options.directory.get(organizationId, webhookId).catch(() => undefined);
  }

  /** What is settled instead of an attempt where none may be made now. */
  #putBack(delivery: LeasedDelivery, standing: Standing | undefined): Settlement {
    const later = (waitMs: number) => setAside(delivery, { status: 'pending', wait_ms: waitMs });
    if (standing === undefined || !this.#lease.coversAttempt) return later(0);
    switch (standing.kind) {
      case 'active':
        // Its event is gone: it outlived its retention while the delivery waited.
        return setAside(delivery, { status: 'cancelled' });
      case 'unverified':
        // Not for long: it may be active by now, and while it is not, it is not claimed again.
        return later(trustMs);
      case 'sealed':
        return later(heldBackMs);
      case 'disabled':
        void this.#endings.check([webhookOf(delivery)]);
        return setAside(delivery, { status: 'failed', error: 'disabled' });
      case 'deleted':
        void this.#endings.check([webhookOf(delivery)]);
        return setAside(delivery, { status: 'cancelled' });
    }
  }

  #attempt(delivery: LeasedDelivery, payload: string, target: Target): Promise<Outcome | Withheld> {
    const { directory, sender, timeoutMs } = this.#options;
    const head = {
      id: delivery.event_id,
      type: delivery.type,
      created_at: delivery.event_created_at,
      organization_id: delivery.organization_id,
      workspace_id: delivery.workspace_id,
    };
    const message = {
      id: delivery.event_id,
      body: Buffer.from(envelopeText(head, payload)),
      delivery: { id: delivery.delivery_id, attempt: delivery.attempts + 1 },
    };
    // The webhook may have been deleted, disabled or changed while the connection was made.
    const mayStart = () => directory.peek(delivery.webhook_id)?.target === target;
    return attempt(sender, target, message, timeoutMs, mayStart);
  }

  #withheld(delivery: LeasedDelivery, { reason }: Withheld): Settlement {
    const exhausted = reason === 'exhausted';
    if (exhausted && performance.now() - this.#exhaustedAtMs > exhaustedMs) {
      this.#exhaustedAtMs = performance.now();
      this.#options.logger.error(
        'no further connection can be opened: raise the limit of open files (ulimit -n); deliveries wait',
      );
    }
    return setAside(delivery, { status: 'pending', wait_ms: exhausted ? exhaustedMs : 0 });
  }

  async #forget(webhook: WebhookKey): Promise<void> {
    this.#options.directory.forget(webhook.id);
    await this.#endings.check([webhook]);
  }

  /** Before a disabled webhook is made active: what waited for it until then ends first. */
  endWaiting(webhook: WebhookKey): Promise<void> {
    return this.#endings.check([webhook]);
  }

  /** After a webhook was changed: resolves when no node will send anything for it as it was any more. */
  async forgetEverywhere(webhook: WebhookKey): Promise<void> {
    this.#options.directory.forget(webhook.id);
    if (!(await this.isAlone())) await new Promise((waited) => setTimeout(waited, trustMs));
    // What waits for it ends with it. Nothing of that is sent any more, so very much of it may end a little later.
    let timer: NodeJS.Timeout | undefined;
    const longEnough = new Promise<void>((waited) => {
      timer = setTimeout(waited, endWithinMs);
    });
    await Promise.race([this.#endings.check([webhook]), longEnough]);
    clearTimeout(timer);
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
    for (const delivery of deliveries) {
      this.#settler.add({ node, settlement: setAside(delivery, { status: 'pending', wait_ms: 0 }) });
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
    await this.#refreshing?.stop();
    await this.#settler.drain(deadlineMs);
    await this.#health.stop();
    await this.#endings.stop();
    await this.#lease.stop().catch(() => undefined);
  }
}

function webhookOf(delivery: LeasedDelivery): WebhookKey {
  return { organization_id: delivery.organization_id, id: delivery.webhook_id };
}
