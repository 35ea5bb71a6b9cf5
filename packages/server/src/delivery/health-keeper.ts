import type { Logger } from 'pino';
import type { Outcome } from '../domain/delivery.js';
import { webhookDisabled } from '../domain/own-event.js';
import { isGivenUp } from '../domain/webhook.js';
import type { Database } from '../storage/database.js';
import { batchOf, type Placement, type RecordedBatch, recordBatch } from '../storage/recording.js';
import { disableWebhook, type FailingWebhook, reportHealth, type WebhookKey } from '../storage/webhooks.js';
import { HealthBook } from './health.js';

export interface HealthKeeperOptions {
  database: Database;
  logger: Logger;
  now: () => number;
  placement: () => Placement;
  onDisabled: (webhook: WebhookKey, batch: RecordedBatch) => void;
}

/** Seldom enough to cost nothing under load. */
const reportEveryMs = 100;
const manyOutcomes = 50;

/** Writes how webhooks are doing, and gives up on those that have done nothing but fail for days. */
export class HealthKeeper {
  readonly #options: HealthKeeperOptions;
  readonly #book = new HealthBook();
  /** To be given up, but what decided it may not be written yet. */
  #failing: FailingWebhook[] = [];
  /** To be given up once the outcomes that are being written now are. */
  #decided: FailingWebhook[] = [];
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
   * Called before so many outcomes are written: unless there are many of them, a webhook tells of an attempt
   * no later than the list of its deliveries does.
   */
  async catchUp(outcomes: number): Promise<void> {
    await this.#reporting;
    const isDue = performance.now() - this.#reportedAtMs >= reportEveryMs;
    if (outcomes < manyOutcomes || isDue) this.#reportNow();
    await this.#reporting;
    this.#decided.push(...this.#failing.splice(0));
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
        if (isGivenUp(webhook.failing_since, webhook.last_failure_at, now())) this.#failing.push(webhook);
      }
    } catch (error) {
      logger.warn({ reason: (error as Error).message }, 'how webhooks are doing could not be written');
    }
  }

  /**
   * Disables those that have done nothing but fail for days. Called once what was reported is settled, so
   * that the deliveries whose failures decided it are among those that end with it.
   */
  async giveUpFailing(): Promise<void> {
    try {
      for (const webhook of this.#decided.splice(0)) await this.#giveUp(webhook);
    } catch (error) {
      this.#options.logger.warn(
        { reason: (error as Error).message },
        'a webhook that only fails could not be disabled yet',
      );
    }
  }

  async #giveUp(webhook: FailingWebhook): Promise<void> {
    const { database, placement, onDisabled } = this.#options;
    const batch = await database.transaction(async (client) => {
      if (!(await disableWebhook(client, webhook, 'failing'))) return undefined;
      return recordBatch(client, batchOf([webhookDisabled(webhook, 'failing')]), placement());
    });
    if (batch) onDisabled(webhook, batch);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#reporting;
    await this.#report();
    this.#decided.push(...this.#failing.splice(0));
    await this.giveUpFailing();
  }
}
