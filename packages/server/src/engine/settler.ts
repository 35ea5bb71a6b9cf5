import type { Logger } from 'pino';
import type { LeasedDelivery, RecordedBatch, Room } from '../events/recording-store.js';
import { batchOf, recordBatch } from '../events/recording-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { isLockTimeout, isTooSlow, isTransient } from '../postgres/database-errors.js';
import { levelFor } from '../signals/reported-error.js';
import { failingMsMax, mustBeDisabled, type ServiceEvent, webhookDisabled } from '../webhooks/webhook.js';
import { disableWebhook, lockWebhooks, type WebhookKey } from '../webhooks/webhook-store.js';
import { type HealthReport, HealthReports } from './health.js';
import { limits } from './limits.js';
import * as settlements from './settlement-store.js';

/** A settlement to write, and what to do in the same transaction. */
export interface Entry {
  /** The ID under which this node leased the delivery. */
  node: number;
  settlement: settlements.Settlement;
  /** Whether the delivery is given back before its turn, because this node has no room for it or is stopping. */
  isSurplus?: boolean;
  /** The event to record, unless the settlement was written before or this node was declared dead. */
  event?: ServiceEvent;
  /** The webhook to disable, because its receiver responded with 410. */
  gone?: WebhookKey & { givenUrl: string };
  /** How many times the database has refused a batch with this entry. */
  refusals?: number;
}

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
}

/** Writes outcomes in batches: one statement and one commit for all attempts that ended within a few milliseconds. */
export class Settler {
  readonly #options: SettlerOptions;
  readonly health = new HealthReports();
  readonly #unwritten = new Unwritten();
  #timer: NodeJS.Timeout | undefined;
  /** Whether `#timer` was set only to write health reports. Outcomes do not wait for such a timer. */
  #isForHealth = false;
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

  get outcomes(): number {
    return this.#outcomes;
  }

  /**
   * Returns whether so many outcomes are unwritten that sending must pause: after a crash, their attempts are repeated.
   * Surplus deliveries have no outcome and do not count. There may be thousands of them.
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
      (continues) => {
        this.#most = Math.min(limits.settleOutcomes, this.#most * 2);
        this.#flushed(limits.gatherMs);
        return continues;
      },
      (error: Error) => this.#failed(batch, reports, error),
    );
    return this.#flushing;
  }

  #failed(batch: readonly Entry[], reports: readonly HealthReport[], error: Error): false {
    const isRefused = isLockTimeout(error) || !isTransient(error);
    this.health.putBack(reports, !isRefused);
    if (isTooSlow(error)) this.#most = Math.max(limits.settleOutcomesMin, Math.floor(batch.length / 2));
    // No delivery is lost: if the lease ends before the batch is written, other nodes repeat the attempts.
    const fields = { reason: error.message };
    this.#options.logger[levelFor(error)](fields, 'outcomes could not be written; retrying');
    this.#unwritten.putBack(batch, isRefused);
    this.#flushed(limits.settleAgainMs);
    return false;
  }

  /** Schedules the next flush, if there is anything left to write. */
  #flushed(againMs: number): void {
    this.#flushing = undefined;
    const { size } = this.#unwritten;
    const isFull = size >= limits.settleOutcomes && againMs === limits.gatherMs;
    if (size > 0) this.#flushIn(isFull ? 0 : againMs);
    else if (!this.health.isEmpty) this.#flushIn(limits.healthEveryMs, true);
  }

  /**
   * Writes a batch and health reports. Puts back what other transactions have locked. Returns whether to write another
   * batch immediately.
   */
  async #write(batch: readonly Entry[], reports: readonly HealthReport[]): Promise<boolean> {
    const { database, onWritten } = this.#options;
    const needsTransaction = batch.some(({ event, gone }) => event || gone);
    const write = (client: Queryable) => this.#settle(client, batch, reports, needsTransaction);
    const { failing, unreported, entries, ...written } = await (needsTransaction
      ? database.transaction(write)
      : write(database));
    settlements.countSettled(entries.map(({ settlement }) => settlement));
    for (const entry of entries) this.#count(entry, -1);
    onWritten(written);
    for (const webhook of failing) await this.#giveUp(webhook);
    // If the report of a success were lost, a webhook could be disabled by mistake.
    this.health.putBack(reports.filter(({ webhook_id }) => unreported.has(webhook_id)));
    if (entries !== batch)
      this.#unwritten.putBack(
        batch.filter((entry) => !entries.includes(entry)),
        false,
      );
    return entries === batch && (unreported.size === 0 || this.#unwritten.size > 0);
  }

  /** Writes a batch and health reports, disables the webhooks named in `gone`, and records the resulting events. */
  async #settle(
    client: Queryable,
    batch: readonly Entry[],
    reports: readonly HealthReport[],
    listed: boolean,
  ): Promise<Written & Omit<settlements.Settled, 'written'> & { entries: readonly Entry[] }> {
    // Lock the webhooks before writing their health: every transaction takes these locks in this order.
    const gone = batch.flatMap((entry) => entry.gone ?? []);
    const locked = gone.length > 0 ? await lockWebhooks(client, gone) : none;
    const entries = locked.size === 0 ? batch : batch.filter((entry) => !locked.has(entry.gone?.id ?? ''));
    const due = entries.map(({ settlement }) => settlement);
    const node = batch[0]?.node ?? this.#node;
    const options = { listed, failingMs: failingMsMax };
    const { written, ...health } = await settlements.settle(client, node, due, reports, options);
    const disabled: WebhookKey[] = [];
    const events: ServiceEvent[] = [];
    for (const { settlement, event, gone } of entries) {
      if (!written.has(settlement.delivery.delivery_id)) continue;
      if (event) events.push(event);
      const about = gone && (await disableWebhook(client, gone, 'gone', gone.givenUrl));
      if (!about) continue;
      events.push(webhookDisabled(about, 'gone'));
      disabled.push(about);
    }
    const recorded =
      events.length > 0 ? await recordBatch(client, batchOf(events), this.#options.room()) : undefined;
    return { settled: entries.length, disabled, recorded, entries, ...health };
  }

  /** Disables a webhook if all its attempts have failed for days. */
  async #giveUp(webhook: settlements.FailingWebhook): Promise<void> {
    const { database, logger, room, onWritten } = this.#options;
    if (!mustBeDisabled(webhook.failing_since_ms, webhook.last_failure_ms, webhook.now_ms)) return;
    try {
      const recorded = await database.transaction(async (client) => {
        const locked = await lockWebhooks(client, [webhook]);
        if (locked.size > 0) throw new Error('another transaction has locked it');
        const about = await disableWebhook(client, webhook, 'failing');
        return about && recordBatch(client, batchOf([webhookDisabled(about, 'failing')]), room());
      });
      if (recorded) onWritten({ settled: 0, disabled: [webhook], recorded });
    } catch (error) {
      logger.warn({ reason: (error as Error).message }, 'a failing webhook could not be disabled yet');
    }
  }
}

const none: ReadonlySet<string> = new Set();

/** The entries that a node has not written yet. */
class Unwritten {
  #entries: Entry[] = [];
  /**
   * Surplus deliveries, which get only the space that outcomes leave in a batch. Outcomes come first, because an
   * attempt is repeated if its outcome is lost.
   */
  #surplus: Entry[] = [];

  get size(): number {
    return this.#entries.length + this.#surplus.length;
  }

  /** Adds an entry. Returns how many are now in the same queue. */
  add(entry: Entry): number {
    return (entry.isSurplus ? this.#surplus : this.#entries).push(entry);
  }

  /**
   * Takes the next batch, of at most `most` entries with the same node ID. An entry that was refused twice gets
   * a batch of its own.
   */
  take(most: number): Entry[] {
    const first = this.#entries[0] ?? this.#surplus[0];
    if (!first) return [];
    if (isAlone(first)) return this.#entries.splice(0, 1);
    const batch: Entry[] = [];
    const takeFrom = (queue: readonly Entry[]) =>
      queue.filter((entry) => {
        const isTaken = batch.length < most && entry.node === first.node && !isAlone(entry);
        if (isTaken) batch.push(entry);
        return !isTaken;
      });
    this.#entries = takeFrom(this.#entries);
    this.#surplus = takeFrom(this.#surplus);
    return batch;
  }

  /**
   * Puts a batch that could not be written at the front of the queue again. If the database refused the batch
   * (`isRefused`), a single entry may be the cause. So after two refusals, each entry is written alone. After the
   * third, it goes to the back. If the database itself had a problem, such as a full disk, the batch stays together.
   */
  putBack(batch: readonly Entry[], isRefused: boolean): void {
    if (isRefused) for (const entry of batch) entry.refusals = (entry.refusals ?? 0) + 1;
    if ((batch[0]?.refusals ?? 0) > 2) this.#entries.push(...batch);
    else this.#entries.unshift(...batch);
  }

  /** Removes and returns the surplus deliveries. */
  dropSurplus(): readonly Entry[] {
    return this.#surplus.splice(0);
  }
}

/** Returns whether an entry gets a batch of its own. */
function isAlone({ refusals = 0 }: Entry): boolean {
  return refusals > 1;
}
