import type { Delivery, WaitingDelivery } from '@posthorn/client';
import { isOutcomeUnknown, problemIn } from '../api/problem';
import { plural, t } from '../text/language';

/** Deliveries that are sent one after another. */
export interface Redelivery {
  all: readonly Delivery[];
  sent: readonly Delivery[];
  /** What the service now attempts: the sent deliveries, or new ones of the same events. */
  queued: readonly WaitingDelivery[];
  /** Why the first delivery that was not sent failed. */
  error?: Error;
}

/** `3 deliveries are on the way.`, `2 deliveries are on the way, 1 may be on the way, 1 was not sent.` */
export function sentenceOf({ all, sent, error }: Pick<Redelivery, 'all' | 'sent' | 'error'>): string {
  const unsure = error && isOutcomeUnknown(error) ? 1 : 0;
  const left = all.length - sent.length - unsure;
  if (sent.length + unsure === 0) return t`Nothing was sent.`;
  const parts = [
    sent.length > 0 && plural(sent.length, '{0} delivery is on the way', '{0} deliveries are on the way'),
    unsure > 0 && (sent.length > 0 ? t`1 may be on the way` : t`1 delivery may be on the way`),
    left > 0 && plural(left, '{0} was not sent', '{0} were not sent'),
  ];
  return `${parts.filter(Boolean).join('; ')}.`;
}

/** `25 deliveries arrived.`, `23 deliveries arrived; 2 failed again.` */
export function resultOf(delivered: number, failed: number): string {
  const parts = [
    delivered > 0 && plural(delivered, '{0} delivery arrived', '{0} deliveries arrived'),
    failed > 0 && plural(failed, '{0} delivery failed again', '{0} deliveries failed again'),
  ];
  return `${parts.filter(Boolean).join('; ')}.`;
}

/** Says what a redelivery does, given how many deliveries there are and how many of them are waiting to retry. */
export function effectSentenceOf(all: number, waiting: number): string {
  const parts = [
    waiting > 0 &&
      plural(
        waiting,
        '{0} delivery is waiting to retry and will be attempted now.',
        '{0} deliveries are waiting to retry and will be attempted now.',
      ),
    waiting < all &&
      plural(
        all - waiting,
        'For {0} delivery, a new one of the same event is created.',
        'For {0} deliveries, new ones of the same events are created.',
      ),
  ];
  return parts.filter(Boolean).join(' ');
}

/** Says why deliveries cannot be redelivered. */
export const heldSentenceOf = (held: number) =>
  plural(
    held,
    '{0} selected delivery is skipped: it is waiting until its webhook is active.',
    '{0} selected deliveries are skipped: they are waiting until their webhook is active.',
  );

/**
 * Sends the deliveries in turn until one fails or the signal is aborted. Waits for a request that is in progress at
 * that point, to know whether it was sent.
 */
export async function redeliverAll(
  all: readonly Delivery[],
  send: (delivery: Delivery) => Promise<WaitingDelivery>,
  onSent: (state: Redelivery) => void,
  signal: AbortSignal,
): Promise<Redelivery> {
  let now: Redelivery = { all, sent: [], queued: [] };
  try {
    for (const delivery of all) {
      const queued = await sentPatiently(() => send(delivery), signal);
      if (!queued) break;
      now = { all, sent: [...now.sent, delivery], queued: [...now.queued, queued] };
      onSent(now);
    }
    return now;
  } catch (error) {
    return { ...now, error: error as Error };
  }
}

/** Waits until the rate limit allows the request, instead of failing. Returns undefined if it was not sent. */
async function sentPatiently<T>(request: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      return await request();
    } catch (error) {
      const problem = problemIn(error);
      if (problem?.status !== 429) throw error;
      await pause(problem.retryAfterMs ?? 1_000, signal);
    }
  }
  return undefined;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
