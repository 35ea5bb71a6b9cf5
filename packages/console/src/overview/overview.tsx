import type { Delivery, Page, Stats } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, Navigate, useSearch } from '@tanstack/react-router';
import { useLive } from '../address/live';
import { periodOf } from '../address/range';
import { inWorkspace, useWorkspace, WorkspaceNote } from '../address/workspace';
import { isUnreachable } from '../api/problem';
import { failedSince, useSettings } from '../api/settings';
import { overviewQueries } from '../api/stats';
import { needsAttention } from '../api/webhook-verdict';
import { webhooksQuery } from '../api/webhooks';
import { isQuiet } from '../charts/bars';
import { DeliveryChart, Figure } from '../charts/delivery-chart';
import { RangePicker } from '../lists/filters';
import { Empty, Loaded, Skeleton } from '../parts/states';
import { usePermission, useToken } from '../session/token';
import { viewsOf } from '../shell/views';
import { formatCount, formatMs } from '../text/format';
import { rich, t } from '../text/language';
import { FirstWebhook } from '../webhooks/first-webhook';
import { headingOf } from './heading';
import { Problems, Waiting } from './problems';
import { EventsByType, WebhookSummary } from './summaries';

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
  const refetchInterval = useLive().refetchInterval || slowMs;
  const { workspaceId } = useWorkspace();
  const webhooks = useQuery({ ...webhooksQuery, refetchInterval });
  const queries = overviewQueries(search, workspaceId);
  const stats = useQuery({ ...queries.stats, refetchInterval });
  const waiting = useQuery({ ...queries.waiting, refetchInterval });
  const shown = webhooks.data && inWorkspace(webhooks.data, workspaceId);
  return (
    <>
      <h1>{shown ? headingOf(shown, shown.filter(needsAttention).length, workspaceId) : t`Overview`}</h1>
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
          <Loaded query={stats} skeleton={<FigureSkeleton period={periodOf(search)} />}>
            {(data) => (
              <>
                {!(shown?.length === 0 && isQuiet(data)) && (
                  <FigureRow
                    stats={data}
                    period={periodOf(search)}
                    waiting={waiting.data}
                    isCounting={isLoading(waiting)}
                  />
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

/** What each figure is, and which time it covers. */
const figureNames = (period: string) =>
  [
    t`delivered ${period}`,
    t`failed attempts ${period}`,
    t`given up ${period}`,
    t`waiting to retry now`,
    t`response time ${period}, p50 / p95`,
  ] as const;

/** A placeholder for the figures and the chart, so that nothing moves when they are loaded. */
function FigureSkeleton({ period }: { period: string }) {
  return (
    <div role="status" aria-label={t`Loading`}>
      <div className="figures">
        {figureNames(period).map((name) => (
          <Figure key={name} name={name}>
            <span className="skeleton">
              <i />
            </span>
          </Figure>
        ))}
      </div>
      <div className="chart tall" />
    </div>
  );
}

function FigureRow({
  stats,
  period,
  waiting,
  isCounting,
}: {
  stats: Stats;
  period: string;
  waiting: Page<Delivery> | undefined;
  isCounting: boolean;
}) {
  const { totals } = stats;
  const [delivered, failedAttempts, givenUp, toRetry, responseTime] = figureNames(period);
  const range = { from: stats.from, to: stats.to };
  const failed = { ...range, ...failedSince(Date.parse(stats.from), useSettings()) };
  return (
    <div className="figures">
      <Figure name={delivered} search={{ ...range, state: 'delivered' }}>
        {formatCount(totals.delivered)}
      </Figure>
      <Figure name={failedAttempts}>{formatCount(totals.failed_attempts)}</Figure>
      <Figure name={givenUp} search={{ ...failed, state: 'given_up' }} isBad={totals.given_up > 0}>
        {formatCount(totals.given_up)}
      </Figure>
      <Figure name={toRetry} search={{ state: 'retrying' }}>
        {waiting ? formatCount(waiting.data.length) : isCounting ? '…' : '–'}
        {waiting?.hasMore && '+'}
      </Figure>
      <Figure name={responseTime}>
        {totals.p50_ms === null ? '–' : formatMs(totals.p50_ms)}
        {totals.p95_ms !== null && <span className="figure-rest"> / {formatMs(totals.p95_ms)}</span>}
      </Figure>
    </div>
  );
}

function NoScopes() {
  return (
    <Empty
      title={t`This token cannot see anything`}
      isPage
      actions={<Link to="/token" className="btn">{t`About this token`}</Link>}
    >
      <p>{rich`It is valid, but it has no scopes. Ask the operator for a token with ${<code>events:read</code>} or ${<code>webhooks:read</code>}.`}</p>
    </Empty>
  );
}
