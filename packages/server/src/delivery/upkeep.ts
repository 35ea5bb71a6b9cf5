import type { Logger } from 'pino';
import type { VerificationFailure, Webhook } from '../domain/webhook.js';
import { Repeating } from '../signals/repeating.js';
import type { Database } from '../storage/database.js';
import type { RecordedBatch } from '../storage/recording.js';
import { advanceReplay, nextReplay } from '../storage/replays.js';
import type { Room } from '../storage/room.js';
import { settleVerification } from '../storage/verifications.js';
import { takeDueVerifications, type WebhookKey } from '../storage/webhooks.js';

export interface UpkeepOptions {
  database: Database;
  logger: Logger;
  now: () => number;
  verify: (webhook: Webhook) => Promise<VerificationFailure | undefined>;
  room: () => Room;
  accept: (batch: RecordedBatch) => void;
  forgetEverywhere: (webhook: WebhookKey) => Promise<void>;
}

const verificationsEveryMs = 2_000;
const verificationsAtOnce = 20;
const replaysEveryMs = 500;
const replayPage = 500;

/** What goes on beside deliveries: automatic verifications, and replays step by step. */
export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #repeating: Repeating[];
  /** How many events of a replay are looked at in one step, where not as many as usual. */
  readonly #pages = new Map<string, number>();
  #stopping = false;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#repeating = [
      new Repeating(verificationsEveryMs, () => this.verifyDue(), options.logger),
      new Repeating(replaysEveryMs, () => this.#replay(), options.logger),
    ];
  }

  async verifyDue(): Promise<void> {
    const { database, now } = this.#options;
    const due = await takeDueVerifications(database, new Date(now()), verificationsAtOnce);
    await Promise.all(due.map((webhook) => this.#verify(webhook)));
  }

  async #verify(webhook: Webhook): Promise<void> {
    const { database, now, verify, room, accept, forgetEverywhere } = this.#options;
    const failure = await verify(webhook);
    const settled = await database.transaction((client) =>
      settleVerification(client, webhook, failure, new Date(now()), room(), { automatic: true }),
    );
    if (settled?.batch) accept(settled.batch);
    if (settled?.webhook.status === 'active') await forgetEverywhere(webhook);
  }

  async #replay(): Promise<void> {
    const { database } = this.#options;
    while (!this.#stopping) {
      const replay = await nextReplay(database);
      if (!replay) return;
      const page = this.#pages.get(replay.id) ?? replayPage;
      // A page that is too much, because its events are large, is tried smaller when it is its turn again.
      this.#pages.set(replay.id, Math.max(1, Math.floor(page / 4)));
      const advanced = await database.transaction((client) => advanceReplay(client, replay, page));
      if (advanced?.status === 'running') this.#pages.set(replay.id, page);
      else this.#pages.delete(replay.id);
      if (!advanced) return;
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#repeating.map((repeating) => repeating.stop()));
  }
}
