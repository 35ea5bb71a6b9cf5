import { useQuery } from '@tanstack/react-query';
import { useLive } from '../address/live';
import { periodOf } from '../address/range';
import { rangeStatsQuery } from '../api/stats';
import { barsOf, deliverySeries, isQuiet } from '../charts/bars';
import { Histogram } from '../charts/histogram';
import { t } from '../text/language';
import type { DeliverySearch } from './delivery-filters';

/** Attempts over time. A drag narrows the list to a range. The figures know no event types. */
export function DeliveryHistogram({ search }: { search: DeliverySearch }) {
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
  return (
    <Histogram
      name={t`Attempts over time`}
      says={`${t`${delivered} delivered, ${failed} failed attempts`} ${periodOf(search)}`}
      bars={bars}
      label={t`${delivered} delivered, ${failed} failed attempts over time`}
      {...deliverySeries(bars)}
    />
  );
}
