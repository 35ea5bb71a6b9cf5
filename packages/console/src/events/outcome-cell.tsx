import type { Delivery, Event, Page } from '@posthorn/client';
import { queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { useLive } from '../address/live';
import { posthorn } from '../api/client';
import { searchedPagesMax } from '../api/deliveries';
import { eventDeliveriesQuery, loadEventDeliveries } from '../api/events';
import { staleMs } from '../api/query-client';
import { useOnScreen } from '../browser/on-screen';
import { t } from '../text/language';
import { type EventOutcome, outcomesOf } from './outcome';

/** Each row takes a request, and a token has 600 of them per minute by default. */
const lookUpEveryMs = 60_000;

/** A row that is only scrolled past is not looked up. */
const lookedAt = { marginPx: 0, forMs: 1_000 };

/**
 * How many webhooks received the event. Unless the search of the page found that all of them did, the deliveries of the
 * event are looked up, because the search does not find redeliveries and replays. It is named where no head says what
 * it is.
 */
export function Outcome({ id, found, isNamed }: { id: string; found: FoundOutcome; isNamed?: boolean }) {
  const [text, isOnScreen] = useOnScreen<HTMLSpanElement>(lookedAt);
  const { isLive } = useLive();
  const inSearch = typeof found === 'object' ? found : undefined;
  const mustLookUp = found === 'missing' || (inSearch !== undefined && inSearch.delivered < inSearch.all);
  const { data, error } = useQuery({
    ...eventDeliveriesQuery(id),
    queryFn: ({ signal }) => lookUp(() => loadEventDeliveries(id, signal), signal),
    enabled: mustLookUp && isOnScreen,
    // A delivery that has ended changes only if the event is sent again.
    staleTime: ({ state }) => (state.data?.data.every(({ final }) => final) ? lookUpEveryMs : staleMs),
    refetchInterval: isLive && lookUpEveryMs,
  });
  const lookedUp = data && !data.hasMore ? outcomesOf([data]).get(id) : undefined;
  const outcome = mustLookUp && data ? lookedUp : inSearch;
  const isNone = mustLookUp && data?.data.length === 0;
  // Until the event is looked up, what the search found is the best that is known.
  const isLoading = found === undefined || (found === 'missing' && !data && !error);
  return (
    <span ref={text} className={outcome ? toneOf(outcome) : 'soft'}>
      {isLoading
        ? !isNamed && <i className="bone" aria-hidden="true" />
        : outcome
          ? isNamed
            ? t`delivered ${outcome.delivered} of ${outcome.all}`
            : t`${outcome.delivered} of ${outcome.all}`
          : !isNone && !isNamed && <span title={t`Unknown. Open the event to see its deliveries.`}>–</span>}
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

const limit = 100;
/** How many times more often the newest deliveries are read while events arrive. */
const oftener = 5;
/** The deliveries of 25 events to 16 webhooks. */
const wanted = 4 * limit;

/**
 * What a search found about an event: its outcome, `missing` if it must be looked up, or `failed`. Undefined while the
 * search runs.
 */
export type FoundOutcome = EventOutcome | 'missing' | 'failed' | undefined;

interface Range {
  from: string;
  /** Undefined for the events that the tail has received since the list was read. */
  to: string | undefined;
}

interface Search extends Page<Delivery> {
  /** The time of the newest row when the search began. */
  newest: string;
  /** Up to this time, events that were not found must be looked up. Later ones may not have had an attempt yet. */
  dueTo: string;
}

/**
 * Returns what is known about the outcome of each row. Except for redeliveries and replays, a delivery has the same
 * time as its event, so one search in the time range of a page finds the deliveries, and one more covers all rows that
 * are newer than the list. While many events arrive, the newest deliveries are also read on their own, more often.
 * A search ends after `wanted` deliveries, and does not find deliveries without an attempt:
 * "1 of 1" means that every webhook that the event was sent to received it. Others may still be waiting.
 */
export function useOutcomes(
  pages: readonly Page<Event>[],
  rows: readonly Event[],
  isOn: boolean,
  refetchInterval: number | false,
): ReadonlyMap<string, FoundOutcome> {
  const ranges = rangesOf(pages, rows);
  const newest = rows[0]?.created_at ?? '';
  const searches = useQueries({
    queries: ranges.map((range) => ({
      ...searchQuery(range, newest),
      enabled: isOn,
      // A search that takes several requests is repeated less often, unless new rows soon make it useless.
      refetchInterval: ({ state }: { state: { data: Search | undefined } }) =>
        refetchInterval &&
        refetchInterval * (range.to ? Math.max(1, Math.ceil((state.data?.data.length ?? 0) / limit)) : 1),
    })),
  });
  const newRows = ranges.find(({ to }) => to === undefined);
  const { data: newestPage } = useQuery({
    ...newestQuery(newRows?.from ?? '', newest),
    enabled: isOn && newRows !== undefined,
    refetchInterval: ({ state }) =>
      refetchInterval && (state.data?.newest === newest ? refetchInterval : refetchInterval / oftener),
  });
  const outcomes = outcomesOf(
    [newestPage, ...searches.map(({ data }) => data)].flatMap((page) => page ?? []),
  );
  const foundOf = ({ id, created_at: at }: Event): FoundOutcome => {
    const search = searches[ranges.findIndex(({ from, to }) => from <= at && (!to || at <= to))];
    const outcome = outcomes.get(id);
    if (outcome || !search) return outcome ?? 'missing';
    if (!search.data) return search.error ? 'failed' : undefined;
    return refetchInterval === false || at <= search.data.dueTo ? 'missing' : undefined;
  };
  return new Map(rows.map((row) => [row.id, foundOf(row)]));
}

function rangesOf(pages: readonly Page<Event>[], rows: readonly Event[]): Range[] {
  const ranges: Range[] = pages.flatMap(({ data }) => {
    const [first, last] = [data[0], data.at(-1)];
    return first && last ? { from: last.created_at, to: first.created_at } : [];
  });
  const from = ranges[0]?.to ?? rows.at(-1)?.created_at;
  const isListed = rows[0] === undefined || rows[0].created_at === ranges[0]?.to;
  return from === undefined || isListed ? ranges : [...ranges, { from, to: undefined }];
}

const searchQuery = ({ from, to }: Range, newest: string) =>
  queryOptions({
    queryKey: ['deliveries', 'of-range', from, to],
    queryFn: async ({ client, queryKey, signal }): Promise<Search> => {
      const dueTo = to ?? client.getQueryData<Search>(queryKey)?.newest ?? from;
      const list = posthorn.deliveries.list({ from, to, limit }, { signal });
      return { ...(await list.search(wanted, searchedPagesMax)), newest, dueTo };
    },
  });

/** One page of the newest deliveries, with the time of the newest row when it was read. */
const newestQuery = (from: string, newest: string) =>
  queryOptions({
    queryKey: ['deliveries', 'newest-of-range', from],
    queryFn: async ({ signal }) => ({
      ...(await posthorn.deliveries.list({ from, limit }, { signal }).first()),
      newest,
    }),
  });
