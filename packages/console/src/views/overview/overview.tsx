import type { Delivery, Page, Stats } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, Navigate, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { isUnreachable } from '../../api/problem';
import { webhooksQuery } from '../../api/webhooks';
import { formatCount, formatMs } from '../../format';
import { useLive } from '../../live';
import { loadChart } from '../../parts/chart';
import { DeliveryChart } from '../../parts/delivery-chart';
import { Loaded } from '../../parts/loaded';
import { RangePicker } from '../../parts/range-picker';
import { Skeleton } from '../../parts/skeleton';
import { needsAttention } from '../../parts/webhook-tag';
import { WorkspaceNote } from '../../parts/workspace-note';
import { usePermission, useToken } from '../../permission';
import { failedSince, useSettings } from '../../settings';
import { viewsOf } from '../../shell/views';
import { isQuiet } from '../../stats-bars';
import { inWorkspace, useWorkspace } from '../../workspace';
import { FirstWebhook } from '../webhooks/first-webhook';
import { EventsByType } from './events-by-type';
import { headingOf } from './heading';
import { NoScopes } from './no-scopes';
import { Problems } from './problems';
import { overviewQueries } from './queries';
import { Waiting } from './waiting';
import { WebhookSummary } from './webhook-summary';

const slowMs = 15_000;

/** Shows what is wrong and why, then the figures. */
export function Overview() {
  const may = usePermission();
  const token = useToken();
  if (may.readWebhooks) return <Figures />;
  const first = viewsOf(token)[0];
  return first ? <Navigate to={first.to} replace /> : <NoScopes />;
}

function Figures() {
  const search = useSearch({ from: '/' });
  useEffect(() => void loadChart(), []);
  const refetchInterval = useLive().refetchInterval || slowMs;
  const { workspaceId } = useWorkspace();
  const webhooks = useQuery({ ...webhooksQuery, refetchInterval });
  const queries = overviewQueries(search, workspaceId);
  const stats = useQuery({ ...queries.stats, refetchInterval });
  const waiting = useQuery({ ...queries.waiting, refetchInterval });
  const shown = webhooks.data && inWorkspace(webhooks.data, workspaceId);
  return (
    <>
      <h1>{shown ? headingOf(shown, shown.filter(needsAttention).length, workspaceId) : 'Overview'}</h1>
      <WorkspaceNote />
      <Loaded query={webhooks}>
        {(all) =>
          all.length === 0 ? (
            <FirstWebhook />
          ) : (
            <>
              <Problems webhooks={inWorkspace(all, workspaceId).filter(needsAttention)} />
              <Waiting webhooks={inWorkspace(all, workspaceId)} />
            </>
          )
        }
      </Loaded>
      {/* Problems come first: whatever is shown before they are loaded would move down. */}
      {!webhooks.isPending && webhooks.data?.length !== 0 && (
        <>
          <Loaded query={stats} skeleton={<FigureSkeleton />}>
            {(data) => (
              <>
                {!(shown?.length === 0 && isQuiet(data)) && (
                  <FigureRow stats={data} waiting={waiting.data} isCounting={isLoading(waiting)} />
                )}
                <DeliveryChart stats={data}>
                  <RangePicker search={search} fallback="24h" />
                </DeliveryChart>
              </>
            )}
          </Loaded>
          <div className="two section">
            {shown ? <WebhookSummary webhooks={shown} /> : isLoading(webhooks) && <Skeleton />}
            {stats.data
              ? stats.data.events_by_type && (
                  <EventsByType types={stats.data.events_by_type} search={search} />
                )
              : isLoading(stats) && <Skeleton />}
          </div>
        </>
      )}
    </>
  );
}

/** Returns whether there is something to wait for. If not, a note above says what went wrong. */
const isLoading = ({ error }: { error: unknown }) => error === null || isUnreachable(error);

const figureNames = [
  'delivered',
  'failed attempts',
  'given up',
  'waiting to retry',
  'response time, p50 / p95',
];

/** A placeholder for the figures and the chart, so that nothing moves when they are loaded. */
function FigureSkeleton() {
  return (
    <div role="status" aria-label="Loading">
      <div className="figures">
        {figureNames.map((name) => (
          <div key={name} className="figure">
            <b className="skeleton">
              <i />
            </b>
            <span>{name}</span>
          </div>
        ))}
      </div>
      <div className="chart tall" />
    </div>
  );
}

function FigureRow({
  stats,
  waiting,
  isCounting,
}: {
  stats: Stats;
  waiting: Page<Delivery> | undefined;
  isCounting: boolean;
}) {
  const { totals } = stats;
  const range = { from: stats.from, to: stats.to };
  const failed = { ...range, ...failedSince(Date.parse(stats.from), useSettings()) };
  return (
    <div className="figures">
      <Link className="figure" to="/deliveries" search={{ ...range, state: 'delivered' }}>
        <b>{formatCount(totals.delivered)}</b>
        <span>delivered</span>
      </Link>
      <div className="figure">
        <b>{formatCount(totals.failed_attempts)}</b>
        <span>failed attempts</span>
      </div>
      <Link className="figure" to="/deliveries" search={{ ...failed, state: 'given_up' }}>
        <b className={totals.given_up > 0 ? 'bad-text' : ''}>{formatCount(totals.given_up)}</b>
        <span>given up</span>
      </Link>
      <Link className="figure" to="/deliveries" search={{ state: 'retrying' }}>
        <b>
          {waiting ? formatCount(waiting.data.length) : isCounting ? '…' : '–'}
          {waiting?.hasMore && '+'}
        </b>
        <span>waiting to retry</span>
      </Link>
      <div className="figure">
        <b>
          {totals.p50_ms === null ? '–' : formatMs(totals.p50_ms)}
          {totals.p95_ms !== null && <span className="figure-rest"> / {formatMs(totals.p95_ms)}</span>}
        </b>
        <span>response time, p50 / p95</span>
      </div>
    </div>
  );
}
