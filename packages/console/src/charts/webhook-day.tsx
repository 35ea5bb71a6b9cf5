import type { Stats } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { webhookDayQuery } from '../api/stats';
import { useOnScreen } from '../browser/on-screen';
import { formatCount, formatMs, formatShare } from '../text/format';
import { t } from '../text/language';

/**
 * The cells of a webhook's last day: sparkline, success rate and, in the list of all webhooks, the response time. There,
 * requests them only once the row is on screen or close to it, because an organization can have a hundred webhooks.
 */
export function WebhookDay({ webhookId, isInList = false }: { webhookId: string; isInList?: boolean }) {
  const [cell, isOnScreen] = useOnScreen<HTMLTableCellElement>();
  const { data, isPending } = useQuery({
    ...webhookDayQuery(webhookId),
    enabled: !isInList || isOnScreen,
  });
  const wait = isPending ? <i className="bone" aria-hidden="true" /> : '–';
  return (
    <>
      <td className="wide">{data ? <Sparkline stats={data} /> : wait}</td>
      <td ref={cell} className="r rate">
        {data ? successRate(data) : wait}
      </td>
      {isInList && (
        <td className="r wide roomy">
          {data ? (data.totals.p95_ms === null ? '–' : formatMs(data.totals.p95_ms)) : wait}
        </td>
      )}
    </>
  );
}

const width = 96;
const height = 18;

/** The last day of a webhook: one bar for every two hours, of which the red part is the share of attempts that failed. */
function Sparkline({ stats }: { stats: Stats }) {
  const pairs = Array.from({ length: Math.ceil(stats.buckets.length / 2) }, (_, pair) => {
    const two = stats.buckets.slice(pair * 2, pair * 2 + 2);
    const failed = two.reduce((sum, bucket) => sum + bucket.failed_attempts, 0);
    return { at: two[0]!.at, failed, all: two.reduce((sum, bucket) => sum + bucket.delivered, failed) };
  });
  const step = width / pairs.length;
  const { delivered, failed_attempts: failed } = stats.totals;
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={t`${formatCount(delivered)} delivered, ${formatCount(failed)} failed attempts in the last 24 hours`}
    >
      {pairs.map((pair, index) => {
        const tall = pair.all === 0 ? 1.5 : height;
        const red = pair.failed === 0 ? 0 : Math.max(2.5, (pair.failed / pair.all) * height);
        const place = { x: index * step, width: step - 2, rx: 1 };
        return (
          <g key={pair.at}>
            <rect {...place} y={height - tall} height={tall} />
            <rect {...place} className="bad" y={height - red} height={red} />
          </g>
        );
      })}
    </svg>
  );
}

/** Returns the share of attempts that succeeded, as text. */
export function successRate({ totals }: Stats): string {
  return formatShare(totals.delivered, totals.delivered + totals.failed_attempts);
}
