import type { Posthorn } from '@posthorn/client';
import type { DeliveryCounts } from './figures.js';
import { type Receiver, receiverPath } from './receivers.js';

/** The webhooks of the demo's receivers, managed through the public API. */
export class Webhooks {
  readonly #posthorn: Posthorn;
  /** Webhook IDs by receiver name. */
  readonly #ids: ReadonlyMap<string, string>;

  private constructor(posthorn: Posthorn, ids: ReadonlyMap<string, string>) {
    this.#posthorn = posthorn;
    this.#ids = ids;
  }

  /** Creates a webhook for each receiver, and deletes those of an earlier demo, whose ports are closed. */
  static async create(
    posthorn: Posthorn,
    organizationId: string,
    receivers: readonly Receiver[],
  ): Promise<Webhooks> {
    const existing = await posthorn.webhooks.list({ organization_id: organizationId }).all();
    const earlier = existing.filter(({ url }) => new URL(url).pathname.startsWith(receiverPath));
    for (const { id } of earlier) await posthorn.webhooks.delete(id);
    const ids = new Map<string, string>();
    for (const { behavior, url, secret } of receivers) {
      const { id, status } = await posthorn.webhooks.create({
        organization_id: organizationId,
        url,
        event_types: [...behavior.eventTypes],
        secret,
        description: behavior.name,
      });
      if (status !== 'active') throw new Error(`The webhook of the ${behavior.name} receiver is ${status}.`);
      ids.set(behavior.name, id);
    }
    return new Webhooks(posthorn, ids);
  }

  idOf(receiver: string): string | undefined {
    return this.#ids.get(receiver);
  }

  /** Returns the counts of each webhook's deliveries, by receiver name. */
  async count(): Promise<ReadonlyMap<string, DeliveryCounts>> {
    const counts = [...this.#ids].map(async ([name, id]) => {
      const { success, failed, pending } = await this.#posthorn.webhooks.stats(id);
      return [name, { delivered: success, pending, failed }] as const;
    });
    return new Map(await Promise.all(counts));
  }

  /** Disables the webhooks. They stay visible, but send nothing to ports that another program may get. */
  async disable(): Promise<void> {
    for (const id of this.#ids.values()) await this.#posthorn.webhooks.change(id, { status: 'disabled' });
  }
}
