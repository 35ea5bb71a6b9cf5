import type { Logger } from 'pino';
import {
  batchOf,
  type LeasedDelivery,
  type RecordedBatch,
  type Room,
  recordBatch,
} from '../events/recording-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { isTooSlow, isTransient } from '../postgres/database-errors.js';
import { levelFor } from '../signals/reported.js';
import { failingMsMax, mustBeDisabled, type ServiceEvent, webhookDisabled } from '../webhooks/webhook.js';
import { disableWebhook, lockWebhooks, type WebhookKey } from '../webhooks/webhook-store.js';
import { type HealthReport, HealthReports } from './health.js';
import { limits } from './limits.js';
import {
  countSettled,
  type FailingWebhook,
  lockedWebhooks,
  type Settled,
  type Settlement,
  settle,
} from './settlement-store.js';
import { type Entry, Unwritten } from './unwritten.js';

/** What a commit of the settler has changed. */
export interface Written {
  /** How many deliveries were written, including those that were not attempted. */
  settled: number;
  disabled: readonly WebhookKey[];
  /** The recording of the events that resulted, such as `webhook.disabled`. Undefined if there were none. */
  recorded: RecordedBatch | undefined;
}

export interface SettlerOptions {
  database: Database;
  logger: Logger;
  /** Returns how many deliveries this node can take when the settler records events. */
  room: () => Room;
  onWritten: (written: Written) => void;
  /** Called when a surplus delivery arrives (1), and when it leaves this node's memory (-1). */
  onSurplus: (delivery: LeasedDelivery, sign: 1 | -1) => void;
  /** Called when writing outcomes has failed at least twice because another transaction has locked these webhooks. */
  onLocked: (webhookIds: ReadonlySet<string>) => void;
  /** Called when outcomes that had to wait for a lock on these webhooks have been written. */
  onUnlocked: (webhookIds: ReadonlySet<string>) => void;
}

/** Writes outcomes in batches: one statement and one commit for all attempts that ended within a few milliseconds. */
export class Settler {
  readonly #options: SettlerOptions;
  readonly health = new HealthReports(limits);
  readonly #unwritten = new Unwritten();
  #timer: NodeJS.Timeout | undefined;
  /** Whether `#timer` was set only to write health reports. Outcomes do not wait for such a timer. */
  #isForHealth = false;
  #lockedTimer: NodeJS.Timeout | undefined;
  #flushing: Promise<boolean> | undefined;
  #isStopped = false;
  /** How many entries the next batch may have: fewer after a batch that took too long. */
  #most: number = limits.settleOutcomes;
  /** How many entries are unwritten, apart from surplus deliveries. */
  #outcomes = 0;
  /** The node ID of the latest entry. A batch that has only health reports uses it. */
  #node = 0;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /**
   * Returns whether so many outcomes are unwritten that sending must pause: after a crash, their attempts are repeated.
   * Surplus deliveries have no outcome and do not count. A locked webhook may have thousands of them.
   */
  get isBehind(): boolean {
    return this.#outcomes >= limits.unsettledOutcomes;
  }

  #count({ isSurplus, settlement }: Entry, sign: 1 | -1): void {
    if (isSurplus) this.#options.onSurplus(settlement.delivery, sign);
    else this.#outcomes += sign;
  }

  /** Returns whether outcomes are no longer written, because this node is about to exit. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  add(entry: Entry): void {
    if (this.#isStopped) return;
    this.#node = entry.node;
    const queued = this.#unwritten.add(entry);
    this.#count(entry, 1);
    this.#flushIn(queued >= limits.settleOutcomes ? 0 : limits.gatherMs);
  }

  /** Resolves when everything is written. Once `deadlineMs` has passed, resolves after one last try. */
  async drain(deadlineMs: number): Promise<void> {
    let waitMs: number = limits.gatherMs;
    while (this.#unwritten.size > 0 || this.#flushing || !this.health.isEmpty) {
      if (this.#unwritten.waiting === 0) this.#tryLocked();
      clearTimeout(this.#timer);
      this.#timer = undefined;
      const continues = await (this.#flushing ?? this.#flush());
      const leftMs = deadlineMs - performance.now();
      if (leftMs < 0) return;
      waitMs = continues ? limits.gatherMs : Math.min(waitMs * 2, limits.settleAgainMs, leftMs);
      // The database may refuse an outcome again and again, so pause before the next try.
      if (!continues) await new Promise((waited) => setTimeout(waited, waitMs));
    }
  }

  /** Drains the queues, then writes nothing more. Deliveries that remain are attempted again after the lease ends. */
  async stop(deadlineMs: number): Promise<void> {
    // These need no write: when this node releases its leases, they go back as well.
    for (const entry of this.#unwritten.dropSurplus()) this.#count(entry, -1);
    await this.drain(deadlineMs);
    this.#isStopped = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#lockedTimer);
    if (this.#unwritten.size === 0) return;
    this.#options.logger.error(
      { outcomes: this.#unwritten.size },
      'outcomes could not be written before the shutdown; these deliveries will be attempted again',
    );
  }

  /** Schedules a flush. Does nothing during a flush, because its end schedules the next one. */
  #flushIn(ms: number, isForHealth = false): void {
    if (this.#flushing) return;
    if (ms === 0 || this.#isForHealth) clearTimeout(this.#timer);
    else if (this.#timer) return;
    this.#isForHealth = isForHealth;
    this.#timer = setTimeout(() => void this.#flush(), ms);
  }

  /**
   * Writes the next batch. Returns whether to write another one immediately: false if the write failed, or if nothing
   * is left but health reports that could not be written.
   */
  #flush(): Promise<boolean> {
    this.#timer = undefined;
    if (this.#flushing) return this.#flushing;
    const batch = this.#unwritten.take(this.#most);
    const reports = this.health.take(batch.length, performance.now());
    this.#flushing = this.#write(batch, reports).then(
      (unreported) => this.#succeeded(batch, reports, unreported),
      (error: Error) => this.#failed(batch, reports, error),
    );
    return this.#flushing;
  }

  #succeeded(
    batch: readonly Entry[],
    reports: readonly HealthReport[],
    unreported: ReadonlySet<string>,
  ): boolean {
    // Another transaction has locked the health of these webhooks, so write their reports later. If the report of a
    // success were lost, a webhook could be disabled by mistake.
    this.health.putBack(reports.filter(({ webhook_id }) => unreported.has(webhook_id)));
    this.#most = Math.min(limits.settleOutcomes, this.#most * 2);
    const unlocked = batch.filter(({ wasLocked }) => wasLocked);
    if (unlocked.length > 0) this.#options.onUnlocked(webhooksOf(unlocked));
    this.#flushed(limits.gatherMs);
    return unreported.size === 0 || this.#unwritten.waiting > 0;
  }

  #failed(batch: readonly Entry[], reports: readonly HealthReport[], error: Error): false {
    this.health.putBack(reports);
    const named = lockedWebhooks(error);
    // An entry that disables its webhook is alone in its batch. Its error does not name the webhook.
    const webhooks = named && batch[0]?.gone ? webhooksOf(batch) : named;
    const isLocked = (entry: Entry) => webhooks !== undefined && needsLock(entry, webhooks);
    if (batch.some(isLocked)) {
      this.#waitForLocks(this.#unwritten.setApart(batch, isLocked));
      this.#flushed(limits.gatherMs);
      return false;
    }
    if (isTooSlow(error)) this.#most = Math.max(limits.settleOutcomesMin, Math.floor(batch.length / 2));
    // No delivery is lost: if the lease ends before the batch is written, other nodes repeat the attempts.
    const fields = { reason: error.message };
    this.#options.logger[levelFor(error)](fields, 'outcomes could not be written; retrying');
    this.#unwritten.putBack(batch, webhooks !== undefined || !isTransient(error));
    this.#flushed(limits.settleAgainMs);
    return false;
  }

  /** Schedules the next flush, if there is anything left to write. */
  #flushed(againMs: number): void {
    this.#flushing = undefined;
    const { waiting } = this.#unwritten;
    const isFull = waiting >= limits.settleOutcomes && againMs === limits.gatherMs;
    if (waiting > 0) this.#flushIn(isFull ? 0 : againMs);
    else if (!this.health.isEmpty) this.#flushIn(limits.healthEveryMs, true);
  }

  /** Schedules the next try for entries of locked webhooks. By then, the other transaction has usually ended. */
  #waitForLocks(entries: readonly Entry[]): void {
    const webhooks = webhooksOf(entries.filter(({ wasLocked }) => wasLocked));
    if (webhooks.size > 0) {
      this.#options.logger.warn(
        { webhook_ids: [...webhooks], outcomes: entries.length },
        'outcomes could not be written because another transaction has locked their webhooks; retrying',
      );
      this.#options.onLocked(webhooks);
    }
    for (const entry of entries) entry.wasLocked = true;
    this.#lockedTimer ??= setTimeout(() => this.#tryLocked(), limits.settleAgainMs);
  }

  #tryLocked(): void {
    clearTimeout(this.#lockedTimer);
    this.#lockedTimer = undefined;
    this.#unwritten.retryLocked();
    this.#flushIn(0);
  }

  /** Writes a batch and health reports. Returns the webhooks whose health was locked and therefore not written. */
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

  /** Writes a batch and health reports, disables the webhooks named in `gone`, and records the resulting events. */
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
    return { settled: batch.length, disabled, recorded, ...health };
  }

  /** Disables a webhook if all its attempts have failed for days. */
  async #giveUp(webhook: FailingWebhook): Promise<void> {
    const { database, logger, room, onWritten } = this.#options;
    if (!mustBeDisabled(webhook.failing_since_ms, webhook.last_failure_ms, webhook.now_ms)) return;
    try {
      const recorded = await database.transaction(async (client) => {
        await lockWebhooks(client, [webhook]);
        const about = await disableWebhook(client, webhook, 'failing');
        return about && recordBatch(client, batchOf([webhookDisabled(about, 'failing')]), room());
      });
      if (recorded) onWritten({ settled: 0, disabled: [webhook], recorded });
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
