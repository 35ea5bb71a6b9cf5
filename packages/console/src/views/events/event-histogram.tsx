import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useLive } from '../../address/live';
import { rangeLabel, rangeOf } from '../../address/range';
import { problemIn } from '../../api/problem';
import { statsQuery } from '../../api/stats';
import { barsOf, stepName } from '../../charts/bars';
import { Chart } from '../../charts/chart';
import { usePermission } from '../../session/token';
import { plural } from '../../text/format';
import type { EventSearch } from './event-filters';

/** All events over time. A drag narrows the list to a range. */
export function EventHistogram({ search }: { search: EventSearch }) {
  const may = usePermission();
  const navigate = useNavigate();
  const { refetchInterval } = useLive();
  const key = JSON.stringify(['events', search.range, search.from, search.to, search.workspace_id]);
  const { data: stats, error } = useQuery({
    ...statsQuery(key, () => {
      const { fromMs, toMs, interval } = rangeOf(search, '24h', Date.now());
      return {
        from: new Date(fromMs).toISOString(),
        to: toMs === undefined ? undefined : new Date(toMs).toISOString(),
        interval,
        workspace_id: search.workspace_id,
      };
    }),
    enabled: may.readWebhooks,
    refetchInterval,
  });
  // The list matters more: without figures, there is no empty chart above it.
  if (!may.readWebhooks || (!stats && problemIn(error)) || (stats?.totals.events === 0 && !search.from))
    return null;
  const bars = stats && barsOf(stats);
  const open = (fromMs: number, toMs: number) =>
    void navigate({
      to: '/events',
      search: (now) =>
        ({
          ...now,
          range: undefined,
          from: new Date(fromMs).toISOString(),
          to: new Date(toMs - 1).toISOString(),
        }) as never,
      resetScroll: false,
    });
  const isFiltered = search.type || search.actor_id || search.subject_type;
  return (
    <section className="chart" aria-label="Events over time">
      <div className="chart-head">
        <span className="soft small">
          {stats?.totals.events != null
            ? `${plural(stats.totals.events, 'event')}${isFiltered ? ' of all types' : ''} ${search.from ? 'in this range' : `in the last ${search.range === '1h' ? 'hour' : rangeLabel(search.range ?? '24h')}`}`
            : 'Events'}
          {bars && ` · per ${stepName(bars.stepMs)}`}
          <span className="wide"> · drag to narrow the range</span>
        </span>
      </div>
      {bars ? (
        <Chart
          starts={bars.starts}
          stepMs={bars.stepMs}
          isLow
          series={[{ label: 'events', color: '--bar-plain', values: bars.events }]}
          label={`${plural(stats.totals.events ?? 0, 'event')} over time`}
          onBar={open}
          onRange={open}
        />
      ) : (
        <div className="plot low" />
      )}
    </section>
  );
}
