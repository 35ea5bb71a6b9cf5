import { useQuery } from '@tanstack/react-query';
import { eventDeliveriesQuery, loadEventDeliveries } from '../../api/events';
import { useLive } from '../../live';
import { useOnScreen } from '../../on-screen';
import { staleMs } from '../../query-client';
import { lookUp } from './look-up';
import { outcomesOf } from './outcome';
import type { FoundOutcome } from './outcomes';

/** Each row takes a request, and a token has 600 of them per minute by default. */
const lookUpEveryMs = 60_000;

/** A row that is only scrolled past is not looked up. */
const lookedAt = { marginPx: 0, forMs: 1_000 };

/**
 * How many webhooks received the event. Unless the search of the page found that all of them did, the deliveries of the
 * event are looked up, because the search does not find redeliveries and replays.
 */
export function OutcomeCell({ eventId, found }: { eventId: string; found: FoundOutcome }) {
  const [cell, isOnScreen] = useOnScreen<HTMLTableCellElement>(lookedAt);
  const { isLive } = useLive();
  const inSearch = typeof found === 'object' ? found : undefined;
  const mustLookUp = found === 'missing' || (inSearch !== undefined && inSearch.delivered < inSearch.all);
  const { data, error } = useQuery({
    ...eventDeliveriesQuery(eventId),
    queryFn: ({ signal }) => lookUp(() => loadEventDeliveries(eventId, signal), signal),
    enabled: mustLookUp && isOnScreen,
    // A delivery that has ended changes only if the event is sent again.
    staleTime: ({ state }) => (state.data?.data.every(({ final }) => final) ? lookUpEveryMs : staleMs),
    refetchInterval: isLive && lookUpEveryMs,
  });
  const lookedUp = data && !data.hasMore ? outcomesOf([data]).get(eventId) : undefined;
  const outcome = mustLookUp && data ? lookedUp : inSearch;
  const isNone = mustLookUp && data?.data.length === 0;
  // Until the event is looked up, what the search found is the best that is known.
  const isLoading = found === undefined || (found === 'missing' && !data && !error);
  return (
    <td ref={cell} className={`r wide ${outcome?.isBad ? 'bad-text' : 'soft'}`}>
      {isLoading ? (
        <i className="bone" aria-hidden="true" />
      ) : outcome ? (
        `${outcome.delivered} of ${outcome.all}`
      ) : (
        !isNone && <span title="Unknown. Open the event to see its deliveries.">–</span>
      )}
    </td>
  );
}
