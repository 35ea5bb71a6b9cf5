import type { ApiClient } from './api-client.js';
import type { DeliveryCounts } from './figures.js';
import { type Receiver, receiverPath } from './receivers.js';

interface Webhook {
  id: string;
  url: string;
  status: string;
}

/** The webhooks of the demo's receivers, made and asked about through the public API. */
export class Webhooks {
  readonly #api: ApiClient;
  /** Ids by the receiver's name. */
  readonly #ids: ReadonlyMap<string, string>;

  private constructor(api: ApiClient, ids: ReadonlyMap<string, string>) {
    this.#api = api;
    this.#ids = ids;
  }

  /** Creates one for each receiver. Those of an earlier demo lead to ports that nobody has, and go. */
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

  /** What became of each one's deliveries, by the receiver's name. */
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

  /** They stay for whoever wants to look, but send nothing to ports that somebody else may get. */
  async disable(): Promise<void> {
    for (const id of this.#ids.values())
      await this.#api.ask('PATCH', `/v1/webhooks/${id}`, { status: 'disabled' });
  }
}
