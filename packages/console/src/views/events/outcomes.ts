import type { Delivery, Event, Page } from '@posthorn/client';
import { useQueries } from '@tanstack/react-query';
import { posthorn } from '../../api/client';

/** How many webhooks an event was sent to, and how many of them received it. */
export interface Outcome {
  delivered: number;
  all: number;
  /** Whether a delivery was given up. */
  isBad: boolean;
}

const limit = 100;

/**
 * Returns the outcomes of the events on each page. A delivery has the same time as its event, so one request
 * for the time range of a page finds the deliveries. If there are more than `limit`, the older events of the
 * page have no outcome.
 */
export function useOutcomes(
  pages: readonly Page<Event>[],
  isOn: boolean,
  refetchInterval: number | false,
): ReadonlyMap<string, Outcome> {
  const found = useQueries({
    queries: pages.map(({ data }) => {
      const from = data.at(-1)?.created_at;
      const to = data[0]?.created_at;
      return {
        queryKey: ['deliveries', 'of-page', from, to],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          posthorn.deliveries.list({ from, to, limit }, { signal }).first(),
        enabled: isOn && from !== undefined,
        refetchInterval,
      };
    }),
  });
  const outcomes = new Map<string, Outcome>();
  for (const { data: page } of found) {
    if (!page) continue;
    const complete = page.hasMore ? (page.data.at(-1)?.created_at ?? '') : '';
    for (const delivery of page.data) if (delivery.created_at > complete) add(outcomes, delivery);
  }
  return outcomes;
}

function add(outcomes: Map<string, Outcome>, { event_id, status, final }: Delivery): void {
  const { delivered, all, isBad } = outcomes.get(event_id) ?? { delivered: 0, all: 0, isBad: false };
  outcomes.set(event_id, {
    delivered: delivered + (status === 'success' ? 1 : 0),
    all: all + 1,
    isBad: isBad || (status === 'failed' && final),
  });
}
