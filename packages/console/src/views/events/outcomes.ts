import type { Delivery, Event, Page } from '@posthorn/client';
import { useQueries } from '@tanstack/react-query';
import { posthorn } from '../../api/client';
import { searchedPagesMax } from '../../api/deliveries';
import { type EventOutcome, outcomesOf } from './outcome';

const limit = 100;
/** The deliveries of 25 events to 16 webhooks. */
const wanted = 4 * limit;

/**
 * Returns the outcomes of the events on each page that has been searched. Except for redeliveries and replays, a
 * delivery has the same time as its event, so one search in the time range of a page finds the deliveries. The outcome
 * is null if the search did not find the event, or not for certain all of its deliveries: a search ends after `wanted`
 * deliveries, and deliveries without an attempt are not in the list.
 */
export function useOutcomes(
  pages: readonly Page<Event>[],
  isOn: boolean,
  refetchInterval: number | false,
): ReadonlyMap<string, EventOutcome | null> {
  const found = useQueries({
    queries: pages.map(({ data }) => {
      const from = data.at(-1)?.created_at;
      const to = data[0]?.created_at;
      return {
        queryKey: ['deliveries', 'of-page', from, to],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          posthorn.deliveries.list({ from, to, limit }, { signal }).search(wanted, searchedPagesMax),
        enabled: isOn && from !== undefined,
        // A search that takes several requests is repeated less often.
        refetchInterval: ({ state }: { state: { data?: Page<Delivery> | undefined } }) =>
          refetchInterval && refetchInterval * Math.max(1, Math.ceil((state.data?.data.length ?? 0) / limit)),
      };
    }),
  });
  const outcomes = outcomesOf(found.flatMap(({ data: page }) => page ?? []));
  const searched = pages.filter((_, index) => found[index]?.data).flatMap(({ data }) => data);
  return new Map(searched.map(({ id }) => [id, outcomes.get(id) ?? null]));
}
