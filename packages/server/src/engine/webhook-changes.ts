import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { countOtherNodes } from '../cells/node-store.js';
import type { Database } from '../postgres/database.js';
import { Semaphore } from '../signals/semaphore.js';
import { within } from '../signals/timers.js';
import type { WebhookDirectory } from '../webhooks/directory.js';
import { alignWaiting, type WebhookKey } from '../webhooks/webhook-store.js';
import { limits } from './limits.js';

export interface WebhookChangesOptions {
  database: Database;
  directory: WebhookDirectory;
  logger: Logger;
  /** Whether no other node can run on this database. */
  alone: boolean;
  /** The ID of this node, if it has one. */
  node: () => number | undefined;
}

/** Half of the engine's connections, and one per organization: the others stay free for claims, renewals and outcomes. */
const alignsMax = 2;
const alignsEachMax = 1;

/** Makes a change to a webhook take effect on every node and for its waiting deliveries. */
export class WebhookChanges {
  readonly #options: WebhookChangesOptions;
  readonly #semaphore = new Semaphore(alignsMax, alignsEachMax);
  #isStopped = false;
  /** The webhooks whose deliveries are about to be aligned again. */
  readonly #retrying = new Set<string>();

  constructor(options: WebhookChangesOptions) {
    this.#options = options;
  }

  /** Resolves when no node will send anything more to the webhook with its old configuration. */
  async forgetEverywhere(webhook: WebhookKey): Promise<void> {
    const { database, directory, alone, node } = this.#options;
    directory.forget(webhook.id);
    // If the database fails, there may be others: the change is already committed.
    const isAlone = alone || (await countOtherNodes(database, node() ?? 0).catch(() => 1)) === 0;
    if (!isAlone) await delay(limits.trustMs);
    // Waiting deliveries are no longer sent, so it does no harm if a large number of them end a little later.
    await within(limits.alignWithinMs, this.alignWaiting(webhook));
  }

  /**
   * Resolves when the waiting deliveries match the status of the webhook: ended, held, or waiting again. If the database
   * fails, tries again later, with half as many at a time.
   */
  async alignWaiting(webhook: WebhookKey): Promise<void> {
    const { logger } = this.#options;
    for (let atMost = limits.alignDeliveries; ; atMost = Math.ceil(atMost / 2)) {
      try {
        while (!this.#isStopped && (await this.#align(webhook, atMost)) > 0);
        return;
      } catch (error) {
        if (this.#isStopped || this.#retrying.has(webhook.id)) return;
        logger.warn(
          { webhook_id: webhook.id, reason: (error as Error).message },
          'waiting deliveries could not be updated to match the status of their webhook; trying again',
        );
      }
      this.#retrying.add(webhook.id);
      await delay(limits.alignAgainMs, undefined, { ref: false });
      this.#retrying.delete(webhook.id);
    }
  }

  /** Aligns some deliveries. Many webhooks may change at once, so they take turns after each statement. */
  #align(webhook: WebhookKey, atMost: number): Promise<number> {
    return this.#semaphore.run(webhook.organization_id, async () => {
      if (this.#isStopped) throw new Error('this node is stopping');
      return alignWaiting(this.#options.database, webhook, atMost);
    });
  }

  /** Resolves when the waiting deliveries of a disabled webhook have ended. Rejects if the database fails. */
  async endWaiting(webhook: WebhookKey): Promise<void> {
    while ((await this.#align(webhook, limits.alignDeliveries)) > 0);
  }

  /** Stops aligning. The remaining deliveries end when they are due. */
  stop(): void {
    this.#isStopped = true;
  }
}
