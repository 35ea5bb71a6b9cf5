import type { Stats } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { webhookDayQuery } from '../api/stats';
import { useOnScreen } from '../browser/on-screen';
import { formatCount, formatMs, formatShare } from '../text/format';

/**
 * The cells of a webhook's last day: sparkline, success rate and, with `withP95`, the response time. Requests them only
 * once the row is on screen or close to it, because an organization can have a hundred webhooks. With `isOneOfFew`,
 * requests them immediately.
 */
export function WebhookDay({
  webhookId,
  withP95 = false,
  isOneOfFew = false,
}: {
  webhookId: string;
  withP95?: boolean;
  isOneOfFew?: boolean;
}) {
  const [cell, isOnScreen] = useOnScreen<HTMLTableCellElement>();
  const { data, isPending } = useQuery({
    ...webhookDayQuery(webhookId),
    enabled: isOneOfFew || isOnScreen,
  });
  const wait = isPending ? <i className="bone" aria-hidden="true" /> : '–';
  return (
    <>
      <td className="wide">{data ? <Sparkline stats={data} /> : wait}</td>
      <td ref={cell} className="r rate">
        {data ? successRate(data) : wait}
      </td>
      {withP95 && (
        <td className="r wide roomy">
          {data ? (data.totals.p95_ms === null ? '–' : formatMs(data.totals.p95_ms)) : wait}
        </td>
      )}
    </>
  );
}

const width = 96;
const height = 20;

/** The last day of a webhook: one bar for every two hours, colored by how many attempts failed. */
function Sparkline({ stats }: { stats: Stats }) {
  const pairs = Array.from({ length: Math.ceil(stats.buckets.length / 2) }, (_, pair) => {
    const two = stats.buckets.slice(pair * 2, pair * 2 + 2);
    const delivered = two.reduce((sum, bucket) => sum + bucket.delivered, 0);
    const failed = two.reduce((sum, bucket) => sum + bucket.failed_attempts, 0);
    return { at: two[0]!.at, delivered, failed, all: delivered + failed };
  });
  const max = Math.max(1, ...pairs.map(({ all }) => all));
  const step = width / pairs.length;
  const { delivered, failed_attempts: failed } = stats.totals;
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`${formatCount(delivered)} delivered, ${formatCount(failed)} failed attempts in the last 24 hours`}
    >
      {pairs.map((pair, index) => {
        const tall = pair.all === 0 ? 1.5 : Math.max(3, Math.sqrt(pair.all / max) * height);
        return (
          <rect
            key={pair.at}
            className={
              pair.all === 0
                ? 'none'
                : pair.delivered === 0
                  ? 'bad'
                  : pair.failed > pair.delivered * 0.05
                    ? 'mixed'
                    : ''
            }
            x={index * step}
            y={height - tall}
            width={step - 2}
            height={tall}
            rx="1"
          />
        );
      })}
    </svg>
  );
}

/** Returns the share of attempts that succeeded, as text. */
export function successRate({ totals }: Stats): string {
  return formatShare(totals.delivered, totals.delivered + totals.failed_attempts);
}
