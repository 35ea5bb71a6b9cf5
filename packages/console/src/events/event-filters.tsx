import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useLive } from '../address/live';
import { periodOf, type RangeSearch } from '../address/range';
import type { SearchOf } from '../address/search';
import { eventTypesQuery } from '../api/events';
import { problemIn } from '../api/problem';
import { rangeStatsQuery } from '../api/stats';
import { barsOf } from '../charts/bars';
import { Histogram } from '../charts/histogram';
import { FilterBar } from '../lists/filters';
import { usePermission } from '../session/token';
import { plural, t } from '../text/language';

const names = {
  type: t`type`,
  subject_type: t`subject type`,
  subject_id: t`subject`,
  actor_id: t`actor`,
  workspace_id: t`workspace`,
} as const;
type Name = keyof typeof names;

export type EventSearch = RangeSearch & SearchOf<Name>;

/** Guesses which filter the text is for: `USR-…` is an actor, `WS-…` a workspace, another prefix a subject, `a.b` a type. */
function filterFor(text: string): Name {
  if (/^(USR|AGT)-/.test(text)) return 'actor_id';
  if (/^WS-/.test(text)) return 'workspace_id';
  if (/^[A-Z]+-/.test(text)) return 'subject_id';
  return text.includes('.') ? 'type' : 'subject_type';
}

export function EventFilters({ search }: { search: EventSearch }) {
  const navigate = useNavigate();
  const { data: types } = useQuery(eventTypesQuery);
  return (
    <FilterBar
      names={names}
      search={search}
      label={t`Add a filter: a type, a subject, an actor or a workspace`}
      placeholder={t`Type, subject, USR-…, WS-…`}
      suggestions={types?.map(({ type }) => type)}
      filterFor={filterFor}
      onId={(id) => /^EVT-/.test(id) && navigate({ to: '/events/$eventId', params: { eventId: id } })}
    />
  );
}

/** All events over time. A drag narrows the list to a range. */
export function EventHistogram({ search }: { search: EventSearch }) {
  const may = usePermission();
  const { refetchInterval } = useLive();
  const { data: stats, error } = useQuery({
    ...rangeStatsQuery(search, { workspace_id: search.workspace_id }),
    enabled: may.readWebhooks,
    refetchInterval,
  });
  // The list matters more: without figures, there is no empty chart above it.
  if (!may.readWebhooks || (!stats && problemIn(error)) || (stats?.totals.events === 0 && !search.from))
    return null;
  const isFiltered = search.type || search.actor_id || search.subject_type;
  const bars = stats && barsOf(stats);
  const events = stats?.totals.events ?? 0;
  const counted = [
    plural(events, '{0} event', '{0} events'),
    isFiltered && t`of all types`,
    periodOf(search),
  ];
  return (
    <Histogram
      name={t`Events over time`}
      says={stats ? counted.filter(Boolean).join(' ') : t`Events`}
      bars={bars}
      series={[{ label: t`events`, className: 'plain', values: bars?.events ?? [] }]}
      label={plural(events, '{0} event over time', '{0} events over time')}
    />
  );
}
