import type { Stats, Webhook } from '@posthorn/client';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useLive } from '../address/live';
import { periodOf } from '../address/range';
import { posthorn } from '../api/client';
import { rangeStatsQuery } from '../api/stats';
import { BandChart } from '../charts/band-chart';
import { barsOf, isQuiet } from '../charts/bars';
import { DeliveryChart, Figure } from '../charts/delivery-chart';
import { successRate } from '../charts/webhook-day';
import { RangePicker } from '../lists/filters';
import { Empty, Loaded } from '../parts/states';
import { usePermission } from '../session/token';
import { formatCount, formatMs } from '../text/format';
import { rich, t } from '../text/language';
import { TimeAgo } from '../text/time';
import { beforeEvents } from './webhook-tag';

/** How the webhook has done over time. */
export function Activity({ webhook }: { webhook: Webhook }) {
  const search = useSearch({ from: '/webhooks/$webhookId' });
  const may = usePermission();
  const { refetchInterval } = useLive();
  const stats = useQuery({ ...rangeStatsQuery(search, { webhook_id: webhook.id }), refetchInterval });
  const notes = useChanges(webhook.id, stats.data);
  return (
    <Loaded query={stats} lines={8}>
      {(data) => (
        <>
          {isQuiet(data) ? (
            <NoAttempts webhook={webhook}>
              <RangePicker search={search} fallback="24h" />
            </NoAttempts>
          ) : (
            <>
              <FigureRow stats={data} period={periodOf(search)} />
              <DeliveryChart stats={data} webhookId={webhook.id} notes={notes}>
                <RangePicker search={search} fallback="24h" />
              </DeliveryChart>
              <ResponseTimes stats={data} />
            </>
          )}
          {may.readAudit && (
            <p className="small">
              <Link
                to="/audit"
                search={{ target_id: webhook.id }}
                className="link"
              >{t`Who changed this webhook`}</Link>
            </p>
          )}
        </>
      )}
    </Loaded>
  );
}

const changed: Record<string, string> = {
  'webhook.created': t`created`,
  'webhook.secret_rotated': t`secret rotated`,
  'webhook.verified': t`verified`,
  'webhook.replayed': t`replay`,
};

/** What was changed about the webhook while the figures were counted: it may be why they changed. */
function useChanges(webhookId: string, stats: Stats | undefined) {
  const may = usePermission();
  const { data } = useQuery({
    ...changesQuery(webhookId, stats?.from ?? '', stats?.to ?? ''),
    enabled: may.readAudit && stats !== undefined,
  });
  return (data?.data ?? []).flatMap(({ action, changes, created_at: at }) => {
    const fields = Object.keys(changes).map((field) =>
      field === 'url' ? 'URL' : field.replaceAll('_', ' '),
    );
    const text = changed[action] ?? (action === 'webhook.updated' && t`${fields.join(', ')} changed`);
    return text ? { atMs: Date.parse(at), text } : [];
  });
}

const changesQuery = (target_id: string, from: string, to: string) =>
  queryOptions({
    queryKey: ['audit', 'changes', target_id, from, to],
    queryFn: ({ signal }) => posthorn.auditLogs.list({ target_id, from, to, limit: 100 }, { signal }).first(),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });

/** Says what the charts would show, and what makes them appear: without attempts, their axes would have no meaning. */
function NoAttempts({ webhook, children }: { webhook: Webhook; children: ReactNode }) {
  const { last_delivery_at: last, status } = webhook;
  return (
    <Empty title={last ? t`No attempts in this time range` : t`No attempts yet`} actions={last && children}>
      <p>
        {last
          ? rich`Deliveries and response times appear here if the range includes attempts. The latest attempt was ${<TimeAgo at={last} />}.`
          : status === 'active'
            ? t`Charts of deliveries and response times appear here after the first event that the webhook subscribes to.`
            : `${beforeEvents[status]} ${t`After that, charts of deliveries and response times appear here.`}`}{' '}
        {!last && t`Tests are not counted.`}
      </p>
    </Empty>
  );
}

function FigureRow({ stats, period }: { stats: Stats; period: string }) {
  const { totals } = stats;
  const attempts = totals.delivered + totals.failed_attempts;
  return (
    <div className="figures">
      <Figure name={attempts === 0 ? t`no attempts ${period}` : t`of attempts succeeded ${period}`}>
        {successRate(stats)}
      </Figure>
      <Figure name={t`delivered ${period}`}>{formatCount(totals.delivered)}</Figure>
      <Figure name={t`failed attempts ${period}`}>{formatCount(totals.failed_attempts)}</Figure>
      <Figure name={t`given up ${period}`} isBad={totals.given_up > 0}>
        {formatCount(totals.given_up)}
      </Figure>
    </div>
  );
}

function ResponseTimes({ stats }: { stats: Stats }) {
  const { p50_ms: p50, p95_ms: p95 } = stats.totals;
  // Without responses, the axis would have no meaning.
  const isNone = p50 === null || p95 === null;
  return (
    <section className="chart" aria-label={t`Response times`}>
      <div className="chart-head">
        <h2>{t`Response time`}</h2>
        <span className="soft small">
          {isNone ? t`no responses in this time range` : `p50 ${formatMs(p50)} · p95 ${formatMs(p95)}`}
        </span>
      </div>
      {!isNone && (
        <>
          <BandChart bars={barsOf(stats)} label={t`Response times: p50 ${p50} ms, p95 ${p95} ms`} />
          <p className="soft small">{t`The line is p50, and the band reaches up to p95.`}</p>
        </>
      )}
    </section>
  );
}
