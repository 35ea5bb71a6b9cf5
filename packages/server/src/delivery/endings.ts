import type { Logger } from 'pino';
import type { Database } from '../storage/database.js';
import { endWaiting, endWaitingBundles } from '../storage/deliveries.js';
import type { WebhookKey } from '../storage/webhooks.js';
import type { WebhookDirectory } from './directory.js';

const endAtOnce = 1_000;
const retriedLaterMs = 500;

/** Ends the deliveries that wait for webhooks which take nothing any more, however many they are. */
export class Endings {
  readonly #database: Database;
  readonly #directory: WebhookDirectory;
  readonly #logger: Logger;
  readonly #running = new Map<string, { again: boolean; done: Promise<void> }>();
  /** Of these, retries were written since the last look at how they stand. */
  #retried = new Map<string, WebhookKey>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(database: Database, directory: WebhookDirectory, logger: Logger) {
    this.#database = database;
    this.#directory = directory;
    this.#logger = logger;
  }

  /**
   * Called after retries are committed: whichever comes last, that or a webhook's end, sees the other, so that nothing
   * is left waiting for a retry that will not be made. One that ended elsewhere is looked at a little later, for all
   * that is retried until then.
   */
  retried(webhooks: readonly WebhookKey[]): void {
    const unsure: WebhookKey[] = [];
    for (const webhook of webhooks) {
      if (this.#directory.peek(webhook.id)?.kind === 'active') this.#retried.set(webhook.id, webhook);
      else unsure.push(webhook);
    }
    if (unsure.length > 0) void this.check(unsure);
    if (this.#retried.size === 0 || this.#stopped) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const due = [...this.#retried.values()];
      this.#retried = new Map();
      void this.check(due);
    }, retriedLaterMs);
  }

  /** Looks anew at how these webhooks stand, and ends what waits for those that take nothing any more. */
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
    clearTimeout(this.#timer);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }
}
