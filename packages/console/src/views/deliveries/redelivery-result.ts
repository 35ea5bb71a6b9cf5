import type { Delivery, WaitingDelivery } from '@posthorn/client';
import type { QueryClient } from '@tanstack/react-query';
import { posthorn } from '../../api/client';
import { session } from '../../session';
import { showToast } from '../../toast';
import { resultOf } from './redelivery';

/** Each delivery takes a request, and a token has 600 of them per minute by default. */
const followedMax = 100;
const atOnce = 4;

/** How long to wait before the deliveries are read again. The message that they were sent must be readable, too. */
const waitsMs = [1_500, 1_500, 3_000, 6_000, 12_000, 20_000];

/**
 * Reads deliveries that were sent again until their attempts have ended, then says how they ended. What the page shows
 * of them is read again, too. The user may have left the list by then. Says nothing about attempts that take longer, or
 * if the deliveries cannot be read.
 */
export async function sayResult(queued: readonly WaitingDelivery[], client: QueryClient): Promise<void> {
  if (queued.length === 0 || queued.length > followedMax) return;
  const who = session.get();
  const ended = new Map<string, Delivery>();
  for (const waitMs of waitsMs) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (session.get() !== who) return;
    const open = queued.filter(({ id }) => !ended.has(id));
    try {
      for (let at = 0; at < open.length; at += atOnce) {
        const read = await Promise.all(open.slice(at, at + atOnce).map((one) => ifAttempted(one)));
        for (const delivery of read) if (delivery) ended.set(delivery.id, delivery);
      }
    } catch {
      return;
    }
    if (ended.size === queued.length) break;
  }
  if (ended.size < queued.length) return;
  const delivered = [...ended.values()].filter(({ status }) => status === 'success').length;
  showToast(resultOf(delivered, ended.size - delivered));
  void client.invalidateQueries({ queryKey: ['deliveries'] });
}

/** Returns a delivery once it has had another attempt than those it had when it was sent again. */
async function ifAttempted({ webhook_id, id, attempts }: WaitingDelivery): Promise<Delivery | undefined> {
  const delivery = await posthorn.deliveries.get(webhook_id, id);
  return delivery.final || delivery.attempts > attempts ? delivery : undefined;
}
