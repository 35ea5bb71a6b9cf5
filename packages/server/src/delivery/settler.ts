import type { Logger } from 'pino';
import { type OwnEvent, webhookDisabled } from '../domain/own-event.js';
import { failingMsMax, isGivenUp } from '../domain/webhook.js';
import { type Database, isUnreachable, type Queryable } from '../storage/database.js';
import { batchOf, type RecordedBatch, recordBatch } from '../storage/recording.js';
import type { Room } from '../storage/room.js';
import {
  countSettled,
  type FailingWebhook,
  type HealthReport,
  type Settled,
  type Settlement,
  settle,
} from '../storage/settlements.js';
import { disableWebhook, lockWebhooks, type WebhookKey } from '../storage/webhooks.js';
import { HealthBook } from './health.js';
import { limits } from './limits.js';

/** One outcome to write, and what is recorded with it in the same transaction. */
export interface Entry {
  /** The node under whose lease the attempt was made. */
  node: number;
  settlement: Settlement;
  event?: OwnEvent;
  /** The receiver responded 410: its webhook is disabled with this. */
  gone?: WebhookKey;
  /** How often the database refused it together with others. */
  refusals?: number;
}

/** What follows once outcomes are written. */
export interface Written {
  /** Webhooks that were disabled with them. */
  disabled: readonly WebhookKey[];
  /** The service's own events that were recorded with them. */
  recorded: RecordedBatch | undefined;
}

export interface SettlerOptions {
  database: Database;
  logger: Logger;
  now: () => number;
  room: () => Room;
  onWritten: (written: Written) => void;
}

/** Writes outcomes in batches: one statement and one commit for everything that ended in the last moment. */
export class Settler {
  readonly #options: SettlerOptions;
  readonly health = new HealthBook();
  #entries: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  /** Under whose lease the latest outcome was. */
  #node = 0;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /** So much is not written yet that nothing more should be sent: after a crash it would be sent again. */
  get isBehind(): boolean {
    return this.#entries.length >= limits.unsettledOutcomes;
  }

  add(entry: Entry): void {
    this.#node = entry.node;
    this.#entries.push(entry);
    this.#flushIn(this.#entries.length >= limits.settleOutcomes ? 0 : limits.gatherMs);
  }

  /** Resolves once everything added so far is written, or was tried once after `deadlineMs`. */
  async drain(deadlineMs: number): Promise<void> {
    while (this.#entries.length > 0 || this.#flushing || !this.health.isEmpty) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      await (this.#flushing ?? this.#flush(true));
      if (performance.now() > deadlineMs) return;
    }
  }

  #flushIn(ms: number): void {
    if (this.#flushing) return;
    if (ms === 0) clearTimeout(this.#timer);
    else if (this.#timer) return;
    this.#timer = setTimeout(() => void this.#flush(), ms);
  }

  async #flush(isLast = false): Promise<void> {
    this.#timer = undefined;
    if (this.#flushing) return;
    const batch = this.#take();
    const [first] = batch;
    const reports = this.health.take(isLast || !first ? 0 : batch.length, performance.now());
    if (!first && reports.length === 0) return;
    this.#flushing = this.#write(first?.node ?? this.#node, batch, reports)
      .then(
        () => limits.gatherMs,
        (error) => {
          // Nothing is lost: it is tried again, and should the lease end first, others attempt it again.
          const { logger } = this.#options;
          logger.warn({ reason: (error as Error).message }, 'outcomes could not be written; trying again');
          this.#putBack(batch, reports, isUnreachable(error));
          return limits.settleAgainMs;
        },
      )
      .then((againMs) => {
        this.#flushing = undefined;
        if (this.#entries.length >= limits.settleOutcomes && againMs === limits.gatherMs) this.#flushIn(0);
        else if (this.#entries.length > 0) this.#flushIn(againMs);
        else if (!this.health.isEmpty) this.#flushIn(limits.healthEveryMs);
      });
    await this.#flushing;
  }

  /**
   * Takes the entries that go together: of one node, and those that disable a webhook, or that the database refused
   * with others twice, alone.
   */
  #take(): Entry[] {
    const [first] = this.#entries;
    if (!first) return [];
    const isAlone = ({ gone, refusals = 0 }: Entry) => gone !== undefined || refusals > 1;
    if (isAlone(first)) return this.#entries.splice(0, 1);
    const end = this.#entries.findIndex((entry) => entry.node !== first.node || isAlone(entry));
    return this.#entries.splice(0, Math.min(end < 0 ? this.#entries.length : end, limits.settleOutcomes));
  }

  /** To the front, but one that is refused even alone to the back: others may fare better. */
  #putBack(batch: readonly Entry[], reports: readonly HealthReport[], isLost: boolean): void {
    this.health.putBack(reports);
    const [first] = batch;
    const isRefusedAlone = !isLost && batch.length === 1 && (first?.refusals ?? 0) > 1;
    if (!isLost) for (const entry of batch) entry.refusals = (entry.refusals ?? 0) + 1;
    if (isRefusedAlone && first) this.#entries.push(first);
    else this.#entries.unshift(...batch);
  }

  async #write(node: number, batch: readonly Entry[], reports: readonly HealthReport[]): Promise<void> {
    const { database, onWritten } = this.#options;
    const settlements = batch.map(({ settlement }) => settlement);
    const hasEvents = batch.some(({ event, gone }) => event || gone);
    const written: Written & { failing: readonly FailingWebhook[] } = hasEvents
      ? await this.#writeWithEvents(node, batch, settlements, reports)
      : {
          ...(await this.#settle(database, node, settlements, reports, false)),
          disabled: [],
          recorded: undefined,
        };
    countSettled(settlements);
    onWritten(written);
    for (const webhook of written.failing) await this.#giveUp(webhook);
  }

  #settle(
    client: Queryable,
    node: number,
    settlements: readonly Settlement[],
    reports: readonly HealthReport[],
    listed: boolean,
  ): Promise<Settled> {
    const failingSinceMs = this.#options.now() - failingMsMax;
    return settle(client, node, settlements, reports, { listed, failingSinceMs });
  }

  async #writeWithEvents(
    node: number,
    batch: readonly Entry[],
    settlements: readonly Settlement[],
    reports: readonly HealthReport[],
  ): Promise<Written & { failing: readonly FailingWebhook[] }> {
    const { database, room } = this.#options;
    const disabled: WebhookKey[] = [];
    return database.transaction(async (client) => {
      // Before its health is written, as everybody who changes a webhook does.
      const gone = batch.flatMap((entry) => entry.gone ?? []);
      if (gone.length > 0) await lockWebhooks(client, gone);
      const { written, failing } = await this.#settle(client, node, settlements, reports, true);
      const events: OwnEvent[] = [];
      for (const { settlement, event, gone } of batch) {
        if (!written.has(settlement.delivery.delivery_id)) continue;
        if (event) events.push(event);
        const about = gone && (await disableWebhook(client, gone, 'gone'));
        if (!about) continue;
        events.push(webhookDisabled(about, 'gone'));
        disabled.push(about);
      }
      const recorded = events.length > 0 ? await recordBatch(client, batchOf(events), room()) : undefined;
      return { disabled, recorded, failing };
    });
  }

  /** Disables a webhook that has done nothing but fail for days. */
  async #giveUp(webhook: FailingWebhook): Promise<void> {
    const { database, logger, now, room, onWritten } = this.#options;
    const { failing_since_ms: sinceMs, last_failure_ms: lastMs } = webhook;
    if (!isGivenUp(new Date(sinceMs), new Date(lastMs), now())) return;
    try {
      const recorded = await database.transaction(async (client) => {
        const about = await disableWebhook(client, webhook, 'failing');
        return about && recordBatch(client, batchOf([webhookDisabled(about, 'failing')]), room());
      });
      if (recorded) onWritten({ disabled: [webhook], recorded });
    } catch (error) {
      logger.warn(
        { reason: (error as Error).message },
        'a webhook that only fails could not be disabled yet',
      );
    }
  }
}
