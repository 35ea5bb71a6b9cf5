import type { Delivery } from '@posthorn/client';
import { problemIn } from '../../api/problem';
import { plural } from '../../format';

/** Deliveries that are sent one after another. */
export interface Redelivery {
  all: readonly Delivery[];
  sent: readonly Delivery[];
}

/** `3 deliveries are on the way.`, `2 deliveries are on the way, 1 was not sent.` */
export function sentenceOf({ all, sent }: Redelivery): string {
  const left = all.length - sent.length;
  if (sent.length === 0) return 'Nothing was sent.';
  const notSent = left > 0 ? `, ${left} ${left === 1 ? 'was' : 'were'} not sent` : '';
  return `${plural(sent.length, 'delivery is', 'deliveries are')} on the way${notSent}.`;
}

/**
 * Sends the deliveries in turn until one fails or the signal is aborted. A request that is under way then is waited
 * for, so that it is known whether it was sent.
 */
export async function redeliverAll(
  all: readonly Delivery[],
  send: (delivery: Delivery) => Promise<unknown>,
  onSent: (state: Redelivery) => void,
  signal: AbortSignal,
): Promise<Redelivery & { error?: Error }> {
  let now: Redelivery = { all, sent: [] };
  try {
    for (const delivery of all) {
      if (!(await sentPatiently(() => send(delivery), signal))) break;
      now = { all, sent: [...now.sent, delivery] };
      onSent(now);
    }
    return now;
  } catch (error) {
    return { ...now, error: error as Error };
  }
}

/** Waits until the rate limit allows the request, instead of failing. Returns whether it was sent. */
async function sentPatiently(request: () => Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    try {
      await request();
      return true;
    } catch (error) {
      const problem = problemIn(error);
      if (problem?.status !== 429) throw error;
      await pause(problem.retryAfterMs ?? 1_000, signal);
    }
  }
  return false;
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
