import type { Event } from '@posthorn/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { memo, useEffect, useMemo } from 'react';
import { useListRange } from '../address/list-range';
import { useLive } from '../address/live';
import { hasFilter } from '../address/search';
import { type EventFilter, eventPagesQuery } from '../api/events';
import { staleMs } from '../api/query-client';
import { Beside, type RowProps, useBeside } from '../lists/beside';
import { Listed } from '../lists/more';
import { NoMatch } from '../lists/no-match';
import { type Column, Table } from '../lists/table';
import { EventLink } from '../parts/links';
import { ProblemNote } from '../parts/states';
import { usePermission, useToken } from '../session/token';
import { shortId } from '../text/identifier';
import { plural, t } from '../text/language';
import { ClockTime } from '../text/time';
import { TypeName } from '../text/type-name';
import { EventView } from './event-detail';
import { EventFilters, EventHistogram, type EventSearch } from './event-filters';
import { mustReadAgain, rowsOf } from './live-rows';
import { NoEvents } from './no-events';
import { type FoundOutcome, Outcome, useOutcomes } from './outcome-cell';
import { useTail } from './tail';

const columns: Column[] = [
  { name: t`Time`, width: '112px', onPhone: '98px' },
  { name: t`Type`, className: 'type-col' },
  { name: t`Subject`, className: 'wide' },
  { name: t`Actor`, className: 'wide' },
  { name: t`Workspace`, className: 'wide roomy', width: '130px' },
];
const deliveredColumn: Column = { name: t`Delivered`, className: 'r wide', width: '92px' };

export function EventList() {
  const search: EventSearch = useSearch({ from: '/events' });
  const { organization_id } = useToken();
  const may = usePermission();
  const { isLive, refetchInterval } = useLive();
  const { type, subject_type, subject_id, actor_id, workspace_id } = search;
  const range = useListRange(search);
  const filter: EventFilter = { type, subject_type, subject_id, actor_id, workspace_id, ...range };
  // A range that has ended gets no new events.
  const canFollow = isLive && filter.to === undefined;
  const { query, rows, tail } = useEvents(organization_id, filter, canFollow);
  const pages = query.data?.pages;
  const outcomes = useOutcomes(pages ?? [], rows, may.readWebhooks, refetchInterval);
  const isEmpty = pages !== undefined && rows.length === 0;
  const isFiltered = hasFilter(search) || Boolean(workspace_id);
  const { open, rowProps } = useBeside();
  return (
    <Beside
      detail={open && <EventView key={open} eventId={open} />}
      page={{ to: '/events/$eventId', params: { eventId: open ?? '' } }}
    >
      <div className="head">
        <h1>{search.subject_id ? t`History of ${search.subject_id}` : t`Events`}</h1>
        {canFollow && !tail.error && (
          <span className="soft small" role="status">
            {tail.isConnected ? t`live` : t`connecting…`}
          </span>
        )}
      </div>
      {/* There is nothing to filter if there are no events at all. */}
      {!(isEmpty && !isFiltered) && <EventFilters search={search} />}
      {!search.subject_id && <EventHistogram search={search} />}
      {/* If the list is refused, so is the tail: one note is enough. */}
      {canFollow && tail.error && !query.error && <ProblemNote error={tail.error} onRetry={tail.retry} />}
      <Listed
        query={query}
        count={rows.length}
        all={plural(rows.length, '{0} event', 'All {0} events')}
        empty={
          isFiltered ? (
            <NoMatch title={t`No matching events`} type={search.type} workspaceId={workspace_id} />
          ) : (
            <NoEvents />
          )
        }
      >
        <Table columns={may.readWebhooks ? [...columns, deliveredColumn] : columns}>
          {rows.map((event) => (
            <Row
              key={event.id}
              event={event}
              isFresh={tail.fresh.has(event.id)}
              outcome={outcomes.get(event.id)}
              showsOutcome={may.readWebhooks}
              isOpen={open === event.id}
              rowProps={rowProps}
            />
          ))}
        </Table>
      </Listed>
    </Beside>
  );
}

/** The list and, if live mode is or was on, the events since: every event once, and none is missing. */
function useEvents(organizationId: string, filter: EventFilter, isFollowed: boolean) {
  const tail = useTail(organizationId, filter, isFollowed);
  const { runs, forget } = tail;
  const query = useInfiniteQuery({
    ...eventPagesQuery(organizationId, filter),
    // The tail continues after an interruption, so a list that it follows does not have to be read again.
    staleTime: ({ state }) =>
      isFollowed && runs.length > 0 && state.data && !mustReadAgain(runs, state.data.pages)
        ? 'static'
        : staleMs,
  });
  const { data, error, isFetching, isPlaceholderData, refetch } = query;
  const pages = data?.pages;
  const mustRead = pages !== undefined && !isPlaceholderData && mustReadAgain(runs, pages);
  useEffect(() => {
    if (mustRead && !isFetching && !error) void refetch();
  }, [mustRead, isFetching, error, refetch]);
  useEffect(() => {
    if (pages && !isPlaceholderData) forget(pages);
  }, [pages, isPlaceholderData, forget]);
  const rows = useMemo(
    () => rowsOf(isPlaceholderData ? [] : runs, pages ?? []),
    [runs, pages, isPlaceholderData],
  );
  return { query, rows, tail };
}

const Row = memo(function Row({
  event,
  isFresh,
  outcome,
  showsOutcome,
  rowProps,
}: {
  event: Event;
  isFresh: boolean;
  outcome: FoundOutcome;
  showsOutcome: boolean;
  isOpen: boolean;
  rowProps: (id: string) => RowProps;
}) {
  return (
    <tr className={isFresh ? 'fresh' : undefined}>
      <td className="soft nowrap">
        <ClockTime at={event.created_at} />
      </td>
      <td>
        <EventLink className="row-link mono" id={event.id} {...rowProps(event.id)}>
          <TypeName type={event.type} />
        </EventLink>
        <span className="second parts narrow">
          <span className="cut mono">{event.subject.id}</span>
          {showsOutcome && <Outcome id={event.id} found={outcome} isNamed />}
        </span>
      </td>
      <td className="wide">
        <Link
          className="mono above"
          to="/events"
          search={{ subject_id: event.subject.id }}
          title={t`${event.subject.type} ${event.subject.id}: show its history`}
        >
          {shortId(event.subject.id)}
        </Link>
      </td>
      <td className="wide soft mono" title={`${event.actor.type} ${event.actor.id}`}>
        {shortId(event.actor.id)}
      </td>
      <td className="wide roomy soft mono">{event.workspace_id ?? '–'}</td>
      {showsOutcome && (
        <td className="r wide">
          <Outcome id={event.id} found={outcome} />
        </td>
      )}
    </tr>
  );
});
