import { useQuery } from '@tanstack/react-query';
import { useLive } from '../../address/live';
import { eventDeliveriesQuery, loadEventDeliveries } from '../../api/events';
import { staleMs } from '../../api/query-client';
import { useOnScreen } from '../../browser/on-screen';
import { type EventOutcome, outcomesOf } from './outcome';
import type { FoundOutcome } from './outcomes';

/** Each row takes a request, and a token has 600 of them per minute by default. */
const lookUpEveryMs = 60_000;

/** A row that is only scrolled past is not looked up. */
const lookedAt = { marginPx: 0, forMs: 1_000 };

/**
 * How many webhooks received the event. Unless the search of the page found that all of them did, the deliveries of the
 * event are looked up, because the search does not find redeliveries and replays.
 */
export function Outcome({
  eventId,
  found,
  isNamed = false,
}: {
  eventId: string;
  found: FoundOutcome;
  /** Whether there is no head that says what it is. */
  isNamed?: boolean;
}) {
  const [text, isOnScreen] = useOnScreen<HTMLSpanElement>(lookedAt);
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
    <span ref={text} className={outcome ? toneOf(outcome) : 'soft'}>
      {isLoading
        ? !isNamed && <i className="bone" aria-hidden="true" />
        : outcome
          ? `${isNamed ? 'delivered ' : ''}${outcome.delivered} of ${outcome.all}`
          : !isNone && !isNamed && <span title="Unknown. Open the event to see its deliveries.">–</span>}
    </span>
  );
}

function toneOf({ delivered, all, isBad }: EventOutcome): string {
  if (isBad) return 'bad-text';
  return delivered < all ? 'warn-text' : 'soft';
}

/** Three lanes, and at most one request per lane every 600 ms: half of the 600 per minute that a token has by default. */
const lanes: Promise<unknown>[] = Array.from({ length: 3 }, () => Promise.resolve());
const everyMs = 600;
let turns = 0;

/** Looks up one row when its turn comes, so that many rows do not use up the token's rate limit. */
function lookUp<T>(load: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const lane = turns++ % lanes.length;
  const pause = () => signal.aborted || new Promise((resolve) => setTimeout(resolve, everyMs));
  const loaded = (lanes[lane] ?? Promise.resolve()).then(load);
  lanes[lane] = loaded.then(pause, pause);
  return loaded;
}
