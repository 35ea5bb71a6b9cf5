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

/** Often enough to be true when somebody looks, seldom enough to cost nothing under load. */
const reportEveryMs = 250;

/** Writes how webhooks are doing, and gives up on those that have done nothing but fail for days. */
export class HealthKeeper {
  readonly #options: HealthKeeperOptions;
  readonly #book = new HealthBook();
  #timer: NodeJS.Timeout | undefined;
  #reporting: Promise<void> | undefined;

  constructor(options: HealthKeeperOptions) {
    this.#options = options;
  }

  note(organizationId: string, webhookId: string, outcome: Outcome, at: Date): void {
    this.#book.note(organizationId, webhookId, outcome, at);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#reporting = this.#report();
    }, reportEveryMs);
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
