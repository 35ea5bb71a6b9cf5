import type { Stats } from '@posthorn/client';
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
import { formatCount, formatMs, formatPage } from '../text/format';
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
  if (first) return <Navigate to={first.to} replace />;
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

function Figures() {
  const search = useSearch({ from: '/' });
  const refetchInterval = useLive().refetchInterval || slowMs;
  const { workspaceId } = useWorkspace();
  const webhooks = useQuery({ ...webhooksQuery, refetchInterval });
  const queries = overviewQueries(search, workspaceId);
  const stats = useQuery({ ...queries.stats, refetchInterval });
  const waiting = useQuery({ ...queries.waiting, refetchInterval });
  const { data: page } = waiting;
  const waitingText = page ? formatPage(page) : isLoading(waiting) ? '…' : '–';
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
          <Loaded
            query={stats}
            skeleton={
              <div role="status" aria-label={t`Loading`}>
                <FigureRow period={periodOf(search)} />
                <div className="chart tall" />
              </div>
            }
          >
            {(data) => (
              <>
                {!(shown?.length === 0 && isQuiet(data)) && (
                  <FigureRow stats={data} period={periodOf(search)} waiting={waitingText} />
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

/** What happened in the period. Until it is known, placeholders, so that nothing moves when it is. */
function FigureRow({ period, stats, waiting }: { period: string; stats?: Stats; waiting?: string }) {
  const settings = useSettings();
  const totals = stats?.totals;
  const range = stats && { from: stats.from, to: stats.to };
  const failed = range && { ...range, ...failedSince(Date.parse(range.from), settings) };
  const p95 = totals?.p95_ms != null && (
    <span key="p95" className="figure-rest">
      {' '}
      / {formatMs(totals.p95_ms)}
    </span>
  );
  const p50 = totals?.p50_ms == null ? '–' : formatMs(totals.p50_ms);
  const counted = (count = 0) => totals && formatCount(count);
  const bone = (
    <span className="skeleton">
      <i />
    </span>
  );
  return (
    <div className="figures">
      <Figure name={t`delivered ${period}`} search={range && { ...range, state: 'delivered' }}>
        {counted(totals?.delivered) ?? bone}
      </Figure>
      <Figure name={t`failed attempts ${period}`}>{counted(totals?.failed_attempts) ?? bone}</Figure>
      <Figure
        name={t`given up ${period}`}
        search={failed && { ...failed, state: 'given_up' }}
        isBad={(totals?.given_up ?? 0) > 0}
      >
        {counted(totals?.given_up) ?? bone}
      </Figure>
      <Figure name={t`waiting to retry now`} search={stats && { state: 'retrying' }}>
        {stats ? waiting : bone}
      </Figure>
      <Figure name={t`response time ${period}, p50 / p95`}>{totals ? [p50, p95] : bone}</Figure>
    </div>
  );
}
