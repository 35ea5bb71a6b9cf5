import type { Logger } from 'pino';
import type { Outcome } from '../domain/delivery.js';
import { webhookDisabled } from '../domain/own-event.js';
import { isGivenUp } from '../domain/webhook.js';
import type { Database } from '../storage/database.js';
import { type Placement, type RecordedBatch, recordBatch } from '../storage/events.js';
import { disableWebhook, type FailingWebhook, reportHealth } from '../storage/webhooks.js';
import { HealthBook } from './health.js';

export interface HealthKeeperOptions {
  database: Database;
  logger: Logger;
  now: () => number;
  placement: () => Placement;
  onDisabled: (webhookId: string, batch: RecordedBatch) => void;
}

/** Seldom enough to cost nothing under load. */
const reportEveryMs = 100;

/** Writes how webhooks are doing, and gives up on those that have done nothing but fail for days. */
export class HealthKeeper {
  readonly #options: HealthKeeperOptions;
  readonly #book = new HealthBook();
  #timer: NodeJS.Timeout | undefined;
  #reporting: Promise<void> | undefined;
  #reportedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: HealthKeeperOptions) {
    this.#options = options;
  }

  note(organizationId: string, webhookId: string, outcome: Outcome, at: Date): void {
    this.#book.note(organizationId, webhookId, outcome, at);
    this.#timer ??= setTimeout(() => this.#reportNow(), reportEveryMs);
  }

  /**
   * Called before outcomes are written: unless there are many of them, a webhook tells of an attempt no
   * later than the list of its deliveries does.
   */
  async catchUp(): Promise<void> {
    if (performance.now() - this.#reportedAtMs >= reportEveryMs) this.#reportNow();
    await this.#reporting;
  }

  #reportNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#reportedAtMs = performance.now();
    this.#reporting = this.#report();
  }

  async #report(): Promise<void> {
    const { database, logger, now } = this.#options;
    try {
      const reports = this.#book.take();
      if (reports.length === 0) return;
      for (const webhook of await reportHealth(database, reports)) {
        if (isGivenUp(webhook.failing_since, webhook.last_failure_at, now())) await this.#giveUp(webhook);
      }
    } catch (error) {
      logger.warn({ reason: (error as Error).message }, 'how webhooks are doing could not be written');
    }
  }

  async #giveUp(webhook: FailingWebhook): Promise<void> {
    const { database, placement, onDisabled } = this.#options;
    const batch = await database.transaction(async (client) => {
      if (!(await disableWebhook(client, webhook, 'failing'))) return undefined;
      return recordBatch(client, JSON.stringify([webhookDisabled(webhook, 'failing')]), placement());
    });
    if (batch) onDisabled(webhook.id, batch);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#reporting;
    await this.#report();
  }
}
