import { useQuery } from '@tanstack/react-query';
import { useLive } from '../address/live';
import { periodOf } from '../address/range';
import { problemIn } from '../api/problem';
import { rangeStatsQuery } from '../api/stats';
import { barsOf } from '../charts/bars';
import { Histogram } from '../charts/histogram';
import { usePermission } from '../session/token';
import { plural, t } from '../text/language';
import type { EventSearch } from './event-filters';

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
