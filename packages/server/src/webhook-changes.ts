import type { Logger } from 'pino';
import { limits } from './delivery/limits.js';
import type { WebhookDirectory } from './sending/directory.js';
import { within } from './signals/within.js';
import type { Database } from './storage/database.js';
import { alignWaiting } from './storage/deliveries.js';
import { countOtherNodes } from './storage/nodes.js';
import type { WebhookKey } from './storage/webhooks.js';

export interface WebhookChangesOptions {
  database: Database;
  directory: WebhookDirectory;
  logger: Logger;
  /** Whether no other node can run on this database. */
  alone: boolean;
  /** The ID of this node, if it has one. */
  node: () => number | undefined;
}

/** Makes a change to a webhook take effect on every node and for its waiting deliveries. */
export class WebhookChanges {
  readonly #options: WebhookChangesOptions;
  #stopped = false;

  constructor(options: WebhookChangesOptions) {
    this.#options = options;
  }

  /** Resolves when no node will send anything more to the webhook with its old configuration. */
  async forgetEverywhere(webhook: WebhookKey): Promise<void> {
    const { database, directory, alone, node } = this.#options;
    directory.forget(webhook.id);
    const isAlone = alone || (await countOtherNodes(database, node() ?? 0)) === 0;
    if (!isAlone) await new Promise((waited) => setTimeout(waited, limits.trustMs));
    // Waiting deliveries are no longer sent, so a large number of them may end a little later.
    await within(limits.alignWithinMs, this.alignWaiting(webhook));
  }

  /** Resolves when the waiting deliveries match the status of the webhook: ended, held, or waiting again. */
  async alignWaiting(webhook: WebhookKey): Promise<void> {
    const { database, logger } = this.#options;
    try {
      while (!this.#stopped && (await alignWaiting(database, webhook, limits.alignDeliveries)) > 0);
    } catch (error) {
      logger.warn(
        { webhook_id: webhook.id, reason: (error as Error).message },
        'waiting deliveries could not be ended yet; they end when they are due',
      );
    }
  }

  /** Stops aligning. The remaining deliveries end when they are due. */
  stop(): void {
    this.#stopped = true;
  }
}
