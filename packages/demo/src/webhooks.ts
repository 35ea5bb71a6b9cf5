import { setTimeout as delay } from 'node:timers/promises';
import type { Platform, Posthorn } from '@posthorn/client';
import type { Figures } from './figures.js';
import { type Receiver, receiverPath } from './receivers.js';

const pauseMs = 1_000;

export type Webhooks = Awaited<ReturnType<typeof createWebhooks>>;

/**
 * Creates a webhook for each receiver, and deletes those of an earlier demo, whose ports are closed. Watches how many of
 * their deliveries are pending.
 */
export async function createWebhooks(
  posthorn: Posthorn,
  organization_id: string,
  receivers: readonly Receiver[],
  figures: Figures,
) {
  const existing = await posthorn.webhooks.list({ organization_id }).all();
  const earlier = existing.filter(({ url }) => new URL(url).pathname.startsWith(receiverPath));
  for (const { id } of earlier) await posthorn.webhooks.delete(id);
  /** Webhook IDs by receiver name. */
  const ids = new Map<string, string>();
  for (const { behavior, url, secret } of receivers) {
    const event_types = [...behavior.eventTypes];
    const webhook = { organization_id, url, event_types, secret, description: behavior.name };
    const { id, status } = await posthorn.webhooks.create(webhook);
    if (status !== 'active') throw new Error(`The webhook of the ${behavior.name} receiver is ${status}.`);
    ids.set(behavior.name, id);
  }
  /** Counts the pending deliveries of each webhook. */
  const look = async () => {
    const looks = [...ids].map(async ([name, id]) => {
      figures.receiver(name).pending = (await posthorn.webhooks.stats(id)).pending;
    });
    await Promise.all(looks);
  };
  const stop = new AbortController();
  const watch = async () => {
    while (!stop.signal.aborted) {
      await look().catch((error: Error) => figures.troubled(error.message));
      await delay(pauseMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  };
  const watched = watch();
  return {
    ids,
    look,
    stopWatching: () => {
      stop.abort();
      return watched;
    },
    /** Disabled webhooks stay visible, but send nothing to ports that another program may get. */
    changeAll: (status: 'paused' | 'disabled') =>
      Promise.all([...ids.values()].map((id) => posthorn.webhooks.change(id, { status }))),
  };
}

/** Returns how many deliveries are queued in memory, being sent or not written yet. */
export async function deliveriesInMemory(platform: Platform): Promise<number> {
  const metrics = await platform.metrics();
  const values = metrics.matchAll(/^posthorn_deliveries_in_memory\{.*\} (\d+)$/gm);
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}
