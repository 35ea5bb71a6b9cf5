import type { Logger } from 'pino';
import type { RecordedBatch } from '../events/recording-store.js';
import type { Room } from '../events/room.js';
import type { Database } from '../postgres/database.js';
import { refusalOf } from '../postgres/database-errors.js';
import { Repeating } from '../signals/repeating.js';
import { settleVerification } from './verification-store.js';
import type { VerificationFailure, Webhook } from './webhook.js';
import { takeDueVerifications, type WebhookKey } from './webhook-store.js';

export interface VerificationsOptions {
  database: Database;
  logger: Logger;
  now: () => number;
  everyMs: number;
  verify: (webhook: Webhook) => Promise<VerificationFailure | undefined>;
  room: () => Room;
  accept: (batch: RecordedBatch) => void;
  forgetEverywhere: (webhook: WebhookKey) => Promise<void>;
}

const atOnce = 20;

/** Verifies unverified webhooks again, on schedule. */
export class Verifications {
  readonly #options: VerificationsOptions;
  readonly #repeating: Repeating;

  constructor(options: VerificationsOptions) {
    this.#options = options;
    this.#repeating = new Repeating(options.everyMs, () => this.verifyDue(), options.logger);
  }

  async verifyDue(): Promise<void> {
    const { database, now } = this.#options;
    const due = await takeDueVerifications(database, new Date(now()), atOnce);
    await Promise.all(due.map((webhook) => this.#verify(webhook)));
  }

  async #verify(webhook: Webhook): Promise<void> {
    const { database, now, verify, room, accept, forgetEverywhere } = this.#options;
    const failure = await verify(webhook);
    const settled = await database
      .transaction((client) =>
        settleVerification(client, webhook, failure, new Date(now()), room(), { automatic: true }),
      )
      .catch((error) => {
        // The organization is moving to another cell. When the move ends, the webhook is verified again.
        if (!refusalOf(error)) throw error;
      });
    if (settled?.batch) accept(settled.batch);
    if (settled?.webhook.status === 'active') await forgetEverywhere(webhook);
  }

  async stop(): Promise<void> {
    await this.#repeating.stop();
  }
}
