import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { webhookDayQuery } from '../api/stats';
import { formatMs } from '../format';
import { Sparkline, successRate } from './sparkline';

/**
 * The cells of a webhook's last day: sparkline, success rate and, with `withP95`, the response time. Requests them only
 * once the row is on screen, because an organization can have a hundred webhooks.
 */
export function WebhookDay({ webhookId, withP95 = false }: { webhookId: string; withP95?: boolean }) {
  const cell = useRef<HTMLTableCellElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (!cell.current || isSeen) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setSeen(true));
    observer.observe(cell.current);
    return () => observer.disconnect();
  }, [isSeen]);
  const { data } = useQuery({ ...webhookDayQuery(webhookId), enabled: isSeen });
  return (
    <>
      <td className="wide">{data && <Sparkline stats={data} />}</td>
      <td ref={cell} className="r rate">
        {data ? successRate(data) : ''}
      </td>
      {withP95 && (
        <td className="r wide">{data?.totals.p95_ms != null ? formatMs(data.totals.p95_ms) : ''}</td>
      )}
    </>
  );
}
