import type { Logger } from 'pino';
import { changesBetween } from '../audit/audit.js';
import { writeAudit } from '../audit/audit-store.js';
import type { Database } from '../postgres/database.js';
import { Repeating } from '../signals/repeating.js';
import type { DeliveryControl } from './probes.js';
import { serviceActor, type Webhook } from './webhook.js';
import { deleteExpired } from './webhook-store.js';
import { auditedFields } from './webhook-writes.js';

export interface ExpiryOptions extends Pick<DeliveryControl, 'forgetEverywhere'> {
  database: Database;
  logger: Logger;
  now: () => number;
  everyMs: number;
}

/** Deletes webhooks that have expired, as a request does. */
export class Expiry {
  readonly #options: ExpiryOptions;
  readonly #repeating: Repeating;

  constructor(options: ExpiryOptions) {
    this.#options = options;
    this.#repeating = new Repeating(options.everyMs, () => this.deleteDue(), options.logger);
  }

  async deleteDue(): Promise<void> {
    const { logger, forgetEverywhere } = this.#options;
    const ended: Promise<void>[] = [];
    for (let webhook = await this.#deleteOne(); webhook; webhook = await this.#deleteOne()) {
      const { id: webhook_id, organization_id } = webhook;
      logger.info({ webhook_id, organization_id }, 'a webhook expired');
      ended.push(forgetEverywhere(webhook));
    }
    await Promise.all(ended);
  }

  #deleteOne(): Promise<Webhook | undefined> {
    const { database, now } = this.#options;
    return database.transaction(async (client) => {
      const webhook = await deleteExpired(client, new Date(now()));
      if (!webhook) return undefined;
      const { organization_id, workspace_id, id } = webhook;
      const origin = { actor: serviceActor, request_id: null, source_address: null };
      const what = { action: 'webhook.deleted', target: { type: 'webhook', id } };
      const changes = changesBetween(auditedFields(webhook), undefined);
      await writeAudit(client, [{ organization_id, workspace_id, ...origin, ...what, changes }]);
      return webhook;
    });
  }

  async stop(): Promise<void> {
    await this.#repeating.stop();
  }
}
