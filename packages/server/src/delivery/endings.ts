import type { Logger } from 'pino';
import type { Database } from '../storage/database.js';
import { endWaiting, endWaitingBundles } from '../storage/deliveries.js';
import type { WebhookKey } from '../storage/webhooks.js';
import type { WebhookDirectory } from './directory.js';

const endAtOnce = 1_000;

/** Ends the deliveries that wait for webhooks which take nothing any more, however many they are. */
export class Endings {
  readonly #database: Database;
  readonly #directory: WebhookDirectory;
  readonly #logger: Logger;
  readonly #running = new Map<string, { again: boolean; done: Promise<void> }>();
  #stopped = false;

  constructor(database: Database, directory: WebhookDirectory, logger: Logger) {
    this.#database = database;
    this.#directory = directory;
    this.#logger = logger;
  }

  /**
   * Looks anew at how these webhooks stand. Called after a retry is committed, and after a webhook's end is:
   * whichever comes last sees the other, so that nothing is left waiting for a retry that will not be made.
   */
  async check(webhooks: readonly WebhookKey[]): Promise<void> {
    await Promise.all(
      webhooks.map(async (webhook) => {
        const standing = await this.#directory.renew(webhook).catch((error) => this.#missed(webhook, error));
        if (standing?.kind === 'disabled' || standing?.kind === 'deleted') await this.#end(webhook);
      }),
    );
  }

  #end(webhook: WebhookKey): Promise<void> {
    const running = this.#running.get(webhook.id);
    if (running) {
      running.again = true;
      return running.done;
    }
    const turn = { again: true, done: Promise.resolve() };
    turn.done = this.#endAll(webhook, turn).finally(() => this.#running.delete(webhook.id));
    this.#running.set(webhook.id, turn);
    return turn.done;
  }

  async #endAll(webhook: WebhookKey, turn: { again: boolean }): Promise<void> {
    try {
      while (turn.again && !this.#stopped) {
        turn.again = false;
        while (!this.#stopped && (await endWaiting(this.#database, webhook, endAtOnce)));
        while (!this.#stopped && (await endWaitingBundles(this.#database, webhook)));
      }
    } catch (error) {
      this.#missed(webhook, error as Error);
    }
  }

  #missed(webhook: WebhookKey, error: Error): undefined {
    this.#logger.warn(
      { webhook_id: webhook.id, reason: error.message },
      'waiting deliveries could not be ended yet; they end when they are due',
    );
  }

  /** What is left then ends when it is due. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }
}
