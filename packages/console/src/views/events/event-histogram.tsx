import { useQuery } from '@tanstack/react-query';
import { useLive } from '../../address/live';
import { noRange, periodOf } from '../../address/range';
import { useSetSearch } from '../../address/search';
import { problemIn } from '../../api/problem';
import { rangeStatsQuery } from '../../api/stats';
import { BarChart } from '../../charts/bar-chart';
import { barsOf, stepName } from '../../charts/bars';
import { usePermission } from '../../session/token';
import { plural, t } from '../../text/language';
import type { EventSearch } from './event-filters';

/** All events over time. A drag narrows the list to a range. */
export function EventHistogram({ search }: { search: EventSearch }) {
  const may = usePermission();
  const set = useSetSearch();
  const { refetchInterval } = useLive();
  const { data: stats, error } = useQuery({
    ...rangeStatsQuery(search, { workspace_id: search.workspace_id }),
    enabled: may.readWebhooks,
    refetchInterval,
  });
  // The list matters more: without figures, there is no empty chart above it.
  if (!may.readWebhooks || (!stats && problemIn(error)) || (stats?.totals.events === 0 && !search.from))
    return null;
  const bars = stats && barsOf(stats);
  const open = (fromMs: number, toMs: number) =>
    set({ ...noRange, from: new Date(fromMs).toISOString(), to: new Date(toMs - 1).toISOString() });
  const isFiltered = search.type || search.actor_id || search.subject_type;
  return (
    <section className="chart" aria-label={t`Events over time`}>
      <div className="chart-head">
        <span className="soft small">
          {stats?.totals.events != null
            ? [
                plural(stats.totals.events, '{0} event', '{0} events'),
                isFiltered && t`of all types`,
                periodOf(search),
              ]
                .filter(Boolean)
                .join(' ')
            : t`Events`}
          {bars && ` · ${stepName(bars.stepMs)}`}
          <span className="wide"> · {t`drag to narrow the range`}</span>
        </span>
      </div>
      {bars ? (
        <BarChart
          starts={bars.starts}
          stepMs={bars.stepMs}
          isLow
          series={[{ label: t`events`, className: 'plain', values: bars.events }]}
          label={plural(stats.totals.events ?? 0, '{0} event over time', '{0} events over time')}
          onPick={open}
          onRange={open}
        />
      ) : (
        <div className="plot low" />
      )}
    </section>
  );
}
