import type { Delivery, Page } from '@posthorn/client';
import { isNewer } from '../api/event-order';

/** How many webhooks an event was sent to, and how many of them received it. */
export interface EventOutcome {
  delivered: number;
  all: number;
  /** Whether a webhook did not receive it and there will be no further attempts. */
  isBad: boolean;
}

/**
 * Returns the outcome of each event whose deliveries the pages cannot have cut off, by the event's ID. If an event was
 * sent to a webhook again, by a redelivery or a replay, the latest delivery counts.
 */
export function outcomesOf(pages: readonly Page<Delivery>[]): ReadonlyMap<string, EventOutcome> {
  const latest = new Map<string, Map<string, Delivery>>();
  for (const delivery of pages.flatMap(complete)) {
    const byWebhook = latest.get(delivery.event_id) ?? new Map<string, Delivery>();
    const other = byWebhook.get(delivery.webhook_id);
    if (!other || isNewer(delivery, other)) byWebhook.set(delivery.webhook_id, delivery);
    latest.set(delivery.event_id, byWebhook);
  }
  return new Map([...latest].map(([id, byWebhook]) => [id, outcomeOf([...byWebhook.values()])]));
}

function outcomeOf(deliveries: readonly Delivery[]): EventOutcome {
  return {
    delivered: deliveries.filter(({ status }) => status === 'success').length,
    all: deliveries.length,
    isBad: deliveries.some(({ status, final }) => status === 'failed' && final),
  };
}

/** Returns the deliveries of events that the end of a page cannot have cut off: those newer than where it stopped. */
function complete({ data, hasMore, searchedTo }: Page<Delivery>): Delivery[] {
  const stopped = searchedTo ?? data.at(-1)?.created_at;
  if (!hasMore || stopped === undefined) return data;
  return data.filter(({ created_at }) => created_at > stopped);
}
