import { useQuery } from '@tanstack/react-query';
import { webhookDayQuery } from '../../api/stats';
import { useOnScreen } from '../../browser/on-screen';
import { Sparkline, successRate } from '../../charts/sparkline';
import { formatMs } from '../../text/format';

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
