import { setTimeout as delay } from 'node:timers/promises';
import type { Platform, Posthorn } from '@posthorn/client';
import type { Figures } from './figures.js';
import { type Receiver, receiverPath } from './receivers.js';

const pauseMs = 1_000;

/** The webhooks of the demo's receivers, managed through the public API, and the state of their deliveries. */
export class Webhooks {
  readonly #posthorn: Posthorn;
  readonly #figures: Figures;
  readonly #stop = new AbortController();
  readonly #watched: Promise<void>;
  /** Webhook IDs by receiver name. */
  readonly ids: ReadonlyMap<string, string>;

  private constructor(posthorn: Posthorn, figures: Figures, ids: ReadonlyMap<string, string>) {
    this.#posthorn = posthorn;
    this.#figures = figures;
    this.ids = ids;
    this.#watched = this.#watch();
  }

  /** Creates a webhook for each receiver, and deletes those of an earlier demo, whose ports are closed. */
  static async create(
    posthorn: Posthorn,
    organizationId: string,
    receivers: readonly Receiver[],
    figures: Figures,
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
    return new Webhooks(posthorn, figures, ids);
  }

  /** Counts the pending deliveries of each webhook. */
  async look(): Promise<void> {
    const looks = [...this.ids].map(async ([name, id]) => {
      const { pending } = await this.#posthorn.webhooks.stats(id);
      this.#figures.receiver(name).pending = pending;
    });
    await Promise.all(looks);
  }

  /** Looks about once per second until it is stopped. */
  async #watch(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.look().catch((error: Error) => this.#figures.troubled(error.message));
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async stopWatching(): Promise<void> {
    this.#stop.abort();
    await this.#watched;
  }

  /**
   * Pauses or disables the webhooks. Disabled ones stay visible, but send nothing to ports that another program may get.
   */
  async changeAll(status: 'paused' | 'disabled'): Promise<void> {
    await Promise.all([...this.ids.values()].map((id) => this.#posthorn.webhooks.change(id, { status })));
  }
}

/** Returns how many deliveries are queued in memory, being sent or not written yet. */
export async function deliveriesInMemory(platform: Platform): Promise<number> {
  const metrics = await platform.metrics();
  const values = metrics.matchAll(/^posthorn_deliveries_in_memory\{.*\} (\d+)$/gm);
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}
