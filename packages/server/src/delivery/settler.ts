import type { Logger } from 'pino';
import type { HealthReport } from '../domain/health.js';
import { HealthReports } from '../domain/health-reports.js';
import { type ServiceEvent, webhookDisabled } from '../domain/service-event.js';
import { failingMsMax, mustBeDisabled } from '../domain/webhook.js';
import { levelFor } from '../signals/reported.js';
import type { Database, Queryable } from '../storage/database.js';
import { isTransient } from '../storage/database-errors.js';
import type { LeasedDelivery } from '../storage/leased-delivery.js';
import { batchOf, type RecordedBatch, recordBatch } from '../storage/recording.js';
import type { Room } from '../storage/room.js';
import {
  countSettled,
  type FailingWebhook,
  lockedWebhooks,
  type Settled,
  type Settlement,
  settle,
} from '../storage/settlements.js';
import { disableWebhook, lockWebhooks, type WebhookKey } from '../storage/webhooks.js';
import { limits } from './limits.js';

/** One outcome to write, and what to record in the same transaction. */
export interface Entry {
  /** The ID under which this node leased the delivery. */
  node: number;
  settlement: Settlement;
  /** Whether the delivery goes back to the database before its turn, because this node has no room for it. */
  isGivenBack?: boolean;
  event?: ServiceEvent;
  /** Set if the receiver responded with 410: its webhook is disabled in the same transaction. */
  gone?: WebhookKey & { givenUrl: string };
  /** How many times the database has refused the entry as part of a batch. */
  refusals?: number;
  /** Whether the entry is waiting, or has waited, because another transaction locked its webhook. */
  wasLocked?: boolean;
}

/** The effects of written outcomes. */
export interface Written {
  /** How many outcomes were written. */
  outcomes: number;
  disabled: readonly WebhookKey[];
  /** The events that the service itself recorded. */
  recorded: RecordedBatch | undefined;
}

export interface SettlerOptions {
  database: Database;
  logger: Logger;
  room: () => Room;
  onWritten: (written: Written) => void;
  /** Called when a delivery is given back (1), and when that is written (-1). Until then, it stays in memory. */
  onGivenBack: (delivery: LeasedDelivery, sign: 1 | -1) => void;
  /** Called when outcomes of these webhooks have to wait for another transaction, which is taking a long time. */
  onLocked: (webhookIds: ReadonlySet<string>) => void;
  /** Called when outcomes of these webhooks are written after they had to wait. */
  onUnlocked: (webhookIds: ReadonlySet<string>) => void;
}

/** Writes outcomes in batches: one statement and one commit for all attempts that ended within a few milliseconds. */
export class Settler {
  readonly #options: SettlerOptions;
  readonly health = new HealthReports(limits);
  #entries: Entry[] = [];
  /** Deliveries that are given back. Outcomes are written first: after a crash, their attempts would be repeated. */
  #givenBack: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Whether the timer was set only to write health. Outcomes do not wait for it. */
  #isForHealth = false;
  /** Outcomes of webhooks that another transaction has locked. They wait separately, so as not to delay others. */
  #locked: Entry[] = [];
  #lockedTimer: NodeJS.Timeout | undefined;
  #flushing: Promise<boolean> | undefined;
  #isStopped = false;
  /** How many outcomes are unwritten. Deliveries that are given back do not count: they have no outcome. */
  #outcomes = 0;
  /** The node ID of the latest entry, for a batch that has only health reports. */
  #node = 0;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /**
   * Returns whether so many outcomes are unwritten that sending must pause: after a crash, their attempts are repeated.
   * Deliveries that are given back do not count: they have no outcome, and a locked webhook may have thousands of them.
   */
  get isBehind(): boolean {
    return this.#outcomes >= limits.unsettledOutcomes;
  }

  #count({ isGivenBack, settlement }: Entry, sign: 1 | -1): void {
    if (isGivenBack) this.#options.onGivenBack(settlement.delivery, sign);
    else this.#outcomes += sign;
  }

  get #unwritten(): number {
    return this.#entries.length + this.#givenBack.length + this.#locked.length;
  }

  /** Returns whether outcomes are no longer written, because this node is about to exit. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  add(entry: Entry): void {
    if (this.#isStopped) return;
    this.#node = entry.node;
    const queue = entry.isGivenBack ? this.#givenBack : this.#entries;
    queue.push(entry);
    this.#count(entry, 1);
    this.#flushIn(queue.length >= limits.settleOutcomes ? 0 : limits.gatherMs);
  }

  /** Resolves when everything is written or, once `deadlineMs` has passed, after one last try. */
  async drain(deadlineMs: number): Promise<void> {
    let waitMs: number = limits.gatherMs;
    while (this.#unwritten > 0 || this.#flushing || !this.health.isEmpty) {
      if (this.#entries.length + this.#givenBack.length === 0) this.#tryLocked();
      clearTimeout(this.#timer);
      this.#timer = undefined;
      const continues = await (this.#flushing ?? this.#flush());
      const leftMs = deadlineMs - performance.now();
      if (leftMs < 0) return;
      waitMs = continues ? limits.gatherMs : Math.min(waitMs * 2, limits.settleAgainMs, leftMs);
      // The database may keep refusing an outcome, so pause before the next try.
      if (!continues) await new Promise((waited) => setTimeout(waited, waitMs));
    }
  }

  /** Drains the queues, then writes nothing more: what remains is attempted again when the lease has ended. */
  async stop(deadlineMs: number): Promise<void> {
    // The end of the lease gives these back, too.
    for (const entry of this.#givenBack.splice(0)) this.#count(entry, -1);
    await this.drain(deadlineMs);
    this.#isStopped = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#lockedTimer);
    if (this.#unwritten === 0) return;
    this.#options.logger.error(
      { outcomes: this.#unwritten },
      'outcomes could not be written before the shutdown; these deliveries will be attempted again',
    );
  }

  #flushIn(ms: number, isForHealth = false): void {
    if (this.#flushing) return;
    if (ms === 0 || this.#isForHealth) clearTimeout(this.#timer);
    else if (this.#timer) return;
    this.#isForHealth = isForHealth;
    this.#timer = setTimeout(() => void this.#flush(), ms);
  }

  /**
   * Writes the next batch. Returns whether to continue immediately: false if the write failed, or if only health
   * reports of locked webhooks are left.
   */
  #flush(): Promise<boolean> {
    this.#timer = undefined;
    if (this.#flushing) return this.#flushing;
    const batch = this.#take();
    const reports = this.health.take(batch.length, performance.now());
    this.#flushing = this.#write(batch, reports).then(
      (unreported) => {
        // Only these webhooks wait for the transaction that has locked their health rows. If a report of a success were
        // lost, they could be disabled by mistake.
        this.health.putBack(reports.filter(({ webhook_id }) => unreported.has(webhook_id)));
        const unlocked = batch.filter(({ wasLocked }) => wasLocked);
        if (unlocked.length > 0) this.#options.onUnlocked(webhooksOf(unlocked));
        this.#flushed(limits.gatherMs);
        return unreported.size === 0 || this.#entries.length + this.#givenBack.length > 0;
      },
      (error: Error) => {
        this.health.putBack(reports);
        const named = lockedWebhooks(error);
        // An entry whose webhook is gone is alone in its batch, and the error does not name the webhook.
        const webhooks = named && batch[0]?.gone ? webhooksOf(batch) : named;
        const isLocked = (entry: Entry) => webhooks !== undefined && needsLock(entry, webhooks);
        if (batch.some(isLocked)) {
          // Set apart the entries in later batches, too: each of those batches would fail and delay the outcomes of
          // other webhooks.
          const entries = [...batch, ...this.#entries];
          this.#setApart(entries.filter(isLocked));
          this.#entries = entries.filter((entry) => !isLocked(entry));
          this.#flushed(limits.gatherMs);
          return false;
        }
        // Nothing is lost: the batch is retried, and if the lease ends first, other nodes attempt the deliveries again.
        const fields = { reason: error.message };
        this.#options.logger[levelFor(error)](fields, 'outcomes could not be written; retrying');
        this.#putBack(batch, webhooks !== undefined || !isTransient(error));
        this.#flushed(limits.settleAgainMs);
        return false;
      },
    );
    return this.#flushing;
  }

  #flushed(againMs: number): void {
    this.#flushing = undefined;
    const waiting = this.#entries.length + this.#givenBack.length;
    const isFull = waiting >= limits.settleOutcomes && againMs === limits.gatherMs;
    if (waiting > 0) this.#flushIn(isFull ? 0 : againMs);
    else if (!this.health.isEmpty) this.#flushIn(limits.healthEveryMs, true);
  }

  /** Keeps the outcomes of locked webhooks until the next try. Most changes to a webhook are committed by then. */
  #setApart(entries: readonly Entry[]): void {
    const webhooks = webhooksOf(entries.filter(({ wasLocked }) => wasLocked));
    if (webhooks.size > 0) {
      this.#options.logger.warn(
        { webhook_ids: [...webhooks], outcomes: entries.length },
        'outcomes could not be written because another transaction has locked their webhooks; retrying',
      );
      this.#options.onLocked(webhooks);
    }
    for (const entry of entries) entry.wasLocked = true;
    this.#locked.push(...entries);
    this.#lockedTimer ??= setTimeout(() => this.#tryLocked(), limits.settleAgainMs);
  }

  #tryLocked(): void {
    clearTimeout(this.#lockedTimer);
    this.#lockedTimer = undefined;
    this.#entries.push(...this.#locked.splice(0));
    this.#flushIn(0);
  }

  /**
   * Takes the next batch of entries with the same node ID. Entries that disable a webhook or were refused twice are
   * taken alone.
   */
  #take(): Entry[] {
    if (this.#entries.length === 0) this.#entries = this.#givenBack.splice(0, limits.settleOutcomes);
    const [first] = this.#entries;
    if (!first) return [];
    if (isAlone(first)) return this.#entries.splice(0, 1);
    const end = this.#entries.findIndex((entry) => entry.node !== first.node || isAlone(entry));
    return this.#entries.splice(0, Math.min(end < 0 ? this.#entries.length : end, limits.settleOutcomes));
  }

  /**
   * Puts a batch back at the front, or at the back if the database refuses it even as a single entry. A batch that
   * failed because of a problem with the database, such as a full disk, stays together.
   */
  #putBack(batch: readonly Entry[], isRefused: boolean): void {
    if (isRefused) for (const entry of batch) entry.refusals = (entry.refusals ?? 0) + 1;
    if ((batch[0]?.refusals ?? 0) > 2) this.#entries.push(...batch);
    else this.#entries.unshift(...batch);
  }

  /** Writes outcomes and health. Returns the webhooks whose health rows were locked and therefore not updated. */
  async #write(batch: readonly Entry[], reports: readonly HealthReport[]): Promise<ReadonlySet<string>> {
    const { database, onWritten } = this.#options;
    const settlements = batch.map(({ settlement }) => settlement);
    const hasEvents = batch.some(({ event, gone }) => event || gone);
    const write = (client: Queryable) => this.#settle(client, batch, settlements, reports, hasEvents);
    const { failing, unreported, ...written } = await (hasEvents
      ? database.transaction(write)
      : write(database));
    countSettled(settlements);
    for (const entry of batch) this.#count(entry, -1);
    onWritten(written);
    for (const webhook of failing) await this.#giveUp(webhook);
    return unreported;
  }

  /** Writes outcomes and health, disables webhooks that are gone, and records the resulting events. */
  async #settle(
    client: Queryable,
    batch: readonly Entry[],
    settlements: readonly Settlement[],
    reports: readonly HealthReport[],
    listed: boolean,
  ): Promise<Written & Omit<Settled, 'written'>> {
    // Lock the webhooks before writing their health: every transaction takes these locks in this order.
    const gone = batch.flatMap((entry) => entry.gone ?? []);
    if (gone.length > 0) await lockWebhooks(client, gone);
    const node = batch[0]?.node ?? this.#node;
    const options = { listed, failingMs: failingMsMax };
    const { written, ...health } = await settle(client, node, settlements, reports, options);
    const disabled: WebhookKey[] = [];
    const events: ServiceEvent[] = [];
    for (const { settlement, event, gone } of batch) {
      if (!written.has(settlement.delivery.delivery_id)) continue;
      if (event) events.push(event);
      const about = gone && (await disableWebhook(client, gone, 'gone', gone.givenUrl));
      if (!about) continue;
      events.push(webhookDisabled(about, 'gone'));
      disabled.push(about);
    }
    const recorded =
      events.length > 0 ? await recordBatch(client, batchOf(events), this.#options.room()) : undefined;
    return { outcomes: batch.length, disabled, recorded, ...health };
  }

  /** Disables a webhook whose attempts have all failed for days. */
  async #giveUp(webhook: FailingWebhook): Promise<void> {
    const { database, logger, room, onWritten } = this.#options;
    if (!mustBeDisabled(webhook.failing_since_ms, webhook.last_failure_ms, webhook.now_ms)) return;
    try {
      const recorded = await database.transaction(async (client) => {
        await lockWebhooks(client, [webhook]);
        const about = await disableWebhook(client, webhook, 'failing');
        return about && recordBatch(client, batchOf([webhookDisabled(about, 'failing')]), room());
      });
      if (recorded) onWritten({ outcomes: 0, disabled: [webhook], recorded });
    } catch (error) {
      logger.warn({ reason: (error as Error).message }, 'a failing webhook could not be disabled yet');
    }
  }
}

/** Returns whether an entry cannot be written while these webhooks are locked. */
function needsLock({ settlement, gone }: Entry, webhooks: ReadonlySet<string>): boolean {
  const { status, delivery } = settlement;
  return webhooks.has(delivery.webhook_id) && (status === 'pending' || gone !== undefined);
}

function webhooksOf(entries: readonly Entry[]): ReadonlySet<string> {
  return new Set(entries.map(({ settlement }) => settlement.delivery.webhook_id));
}

function isAlone({ gone, refusals = 0 }: Entry): boolean {
  return gone !== undefined || refusals > 1;
}
