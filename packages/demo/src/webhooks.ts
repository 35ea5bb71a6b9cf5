import type { ApiClient } from './api-client.js';
import type { DeliveryCounts } from './figures.js';
import { type Receiver, receiverPath } from './receivers.js';

interface Webhook {
  id: string;
  url: string;
  status: string;
}

/** The webhooks of the demo's receivers, managed through the public API. */
export class Webhooks {
  readonly #api: ApiClient;
  /** Webhook ids by receiver name. */
  readonly #ids: ReadonlyMap<string, string>;

  private constructor(api: ApiClient, ids: ReadonlyMap<string, string>) {
    this.#api = api;
    this.#ids = ids;
  }

  /** Creates a webhook for each receiver, and deletes those of an earlier demo, whose ports are closed. */
  static async create(
    api: ApiClient,
    organizationId: string,
    receivers: readonly Receiver[],
  ): Promise<Webhooks> {
    const path = `/v1/webhooks?organization_id=${organizationId}`;
    const { data: existing } = await api.ask<{ data: Webhook[] }>('GET', path);
    const earlier = existing.filter(({ url }) => new URL(url).pathname.startsWith(receiverPath));
    for (const { id } of earlier) await api.ask('DELETE', `/v1/webhooks/${id}`);
    const ids = new Map<string, string>();
    for (const { manner, url, secret } of receivers) {
      const { data } = await api.ask<{ data: Webhook }>('POST', '/v1/webhooks', {
        ...{ organization_id: organizationId, url, event_types: manner.eventTypes, secret },
        description: manner.name,
      });
      if (data.status !== 'active')
        throw new Error(`The webhook of the ${manner.name} receiver is ${data.status}.`);
      ids.set(manner.name, data.id);
    }
    return new Webhooks(api, ids);
  }

  idOf(receiver: string): string | undefined {
    return this.#ids.get(receiver);
  }

  /** Returns the counts of each webhook's deliveries, by receiver name. */
  async count(): Promise<ReadonlyMap<string, DeliveryCounts>> {
    const counts = [...this.#ids].map(async ([name, id]) => {
      const { data } = await this.#api.ask<{ data: { success: number; failed: number; pending: number } }>(
        'GET',
        `/v1/webhooks/${id}/stats`,
      );
      const { success, failed, pending } = data;
      return [name, { delivered: success, pending, failed }] as const;
    });
    return new Map(await Promise.all(counts));
  }

  /** Disables the webhooks. They stay visible, but send nothing to ports that another program may get. */
  async disable(): Promise<void> {
    for (const id of this.#ids.values())
      await this.#api.ask('PATCH', `/v1/webhooks/${id}`, { status: 'disabled' });
  }
}
