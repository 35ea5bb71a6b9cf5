import { useQuery } from '@tanstack/react-query';
import { useLive } from '../../address/live';
import { noRange, periodOf } from '../../address/range';
import { useSetSearch } from '../../address/search';
import { rangeStatsQuery } from '../../api/stats';
import { BarChart } from '../../charts/bar-chart';
import { barsOf, isQuiet, stepName } from '../../charts/bars';
import { t } from '../../text/language';
import type { DeliverySearch } from './delivery-filters';

/** Attempts over time. A drag narrows the list to a range. The figures know no event types. */
export function DeliveryHistogram({ search }: { search: DeliverySearch }) {
  const set = useSetSearch();
  const { refetchInterval } = useLive();
  const { webhook_id, workspace_id } = search;
  const isKnown = !search.event_type && !search.event_id;
  const { data: stats } = useQuery({
    ...rangeStatsQuery(search, { webhook_id, workspace_id }),
    enabled: isKnown,
    refetchInterval,
  });
  // The list matters more: without figures, there is no empty chart above it.
  if (!isKnown || !stats || isQuiet(stats)) return null;
  const bars = barsOf(stats);
  const { delivered, failed_attempts: failed } = stats.totals;
  const open = (fromMs: number, toMs: number) =>
    set({ ...noRange, from: new Date(fromMs).toISOString(), to: new Date(toMs - 1).toISOString() });
  return (
    <section className="chart" aria-label={t`Attempts over time`}>
      <span className="soft small">
        {t`${delivered} delivered, ${failed} failed attempts`} {periodOf(search)} · {stepName(bars.stepMs)}
        <span className="wide"> · {t`drag to narrow the range`}</span>
      </span>
      <BarChart
        starts={bars.starts}
        stepMs={bars.stepMs}
        isLow
        series={[{ label: t`delivered`, className: 'plain', values: bars.delivered }]}
        strip={[
          { label: t`retried`, className: 'warn', values: bars.retried },
          { label: t`given up`, className: 'bad', values: bars.givenUp },
        ]}
        label={t`${delivered} delivered, ${failed} failed attempts over time`}
        onPick={open}
        onRange={open}
      />
    </section>
  );
}
