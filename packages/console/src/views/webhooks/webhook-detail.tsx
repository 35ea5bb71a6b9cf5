import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { CatchBoundary, Link, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useLive } from '../../address/live';
import { problemIn } from '../../api/problem';
import { type JudgedWebhook, webhookQuery } from '../../api/webhooks';
import { Breadcrumb, Identifier } from '../../parts/head';
import { Loaded, ProblemNote, Skeleton } from '../../parts/states';
import { Forbidden } from '../../session/forbidden';
import { usePermission } from '../../session/token';
import { whenIdle } from '../../shell/late-parts';
import { ViewError } from '../../shell/view-error';
import { useShownItem } from '../../shell/views';
import { t } from '../../text/language';
import { DeliveryTable } from '../deliveries/delivery-list';
import { rereadAfterMs } from '../deliveries/next-attempt';
import { isDeletionUnresolved } from './delete-button';
import { useVerification, VerifyButton } from './remedies';
import { StatusButtons } from './status-button';
import { WebhookNote } from './webhook-note';
import { WebhookTag, webhookName } from './webhook-tag';
import { WebhookTraits } from './webhook-traits';

export function WebhookDetail() {
  const may = usePermission();
  const { webhookId } = useParams({ from: '/webhooks/$webhookId' });
  const { refetchInterval } = useLive();
  const webhook = useQuery({
    ...webhookQuery(webhookId),
    enabled: may.readWebhooks,
    refetchInterval: ({ state }) => refetchInterval || rereadAfterMs([state.data?.waitsUntil], Date.now()),
  });
  useShownItem(webhook.data && webhookName(webhook.data));
  if (!may.readWebhooks) return <Forbidden action={t`see webhooks`} scopes={['webhooks:read']} />;
  return (
    <>
      <Breadcrumb>
        <Link to="/webhooks">{t`Webhooks`}</Link>
      </Breadcrumb>
      {problemIn(webhook.error)?.code === 'not_found' && isDeletionUnresolved(webhookId) ? (
        <Deleted />
      ) : (
        <Loaded query={webhook}>{(data) => <Detail key={data.id} webhook={data} />}</Loaded>
      )}
    </>
  );
}

/** Replaces the page if it is loaded again after the response to the deletion was lost. */
function Deleted() {
  return (
    <div className="note ok" role="status">
      <b>{t`The webhook was deleted.`}</b>
      <div className="actions">
        <Link to="/webhooks" className="btn slim">{t`All webhooks`}</Link>
      </div>
    </div>
  );
}

function Detail({ webhook }: { webhook: JudgedWebhook }) {
  const may = usePermission();
  const verify = useVerification(webhook);
  const [activationError, setActivationError] = useState<Error>();
  const { tab = 'deliveries' } = useSearch({ from: '/webhooks/$webhookId' });
  const tabs = [
    { key: 'deliveries', name: t`Deliveries` },
    { key: 'activity', name: t`Activity` },
    { key: 'settings', name: t`Settings` },
    ...(may.send
      ? [
          { key: 'test', name: t`Test` },
          { key: 'receiver', name: t`Receiver` },
        ]
      : []),
  ];
  const shown = tabs.some(({ key }) => key === tab) ? tab : 'deliveries';
  // Somebody who looks at the code of the receiver wants to know why it is not verified.
  const isSlim = !(shown === 'deliveries' || (shown === 'receiver' && webhook.status === 'unverified'));
  return (
    <>
      <div className="head">
        <h1>{webhookName(webhook)}</h1>
        <WebhookTag webhook={webhook} />
        <Identifier id={webhook.id} />
        <span className="grow" />
        {/* The button to disable comes first: it must not appear below the pointer after "Verify now" or "Activate". */}
        {may.send && <StatusButtons webhook={webhook} onActivationError={setActivationError} />}
        {may.send && webhook.status === 'active' && (
          <Link
            to="/webhooks/$webhookId/replay"
            params={{ webhookId: webhook.id }}
            className="btn"
          >{t`Replay…`}</Link>
        )}
        {may.send && webhook.status === 'unverified' && <VerifyButton verify={verify} isPrimary />}
        {(webhook.description || !webhook.url.includes(webhookName(webhook))) && (
          <p className="lead mono">{webhook.url}</p>
        )}
        <WebhookTraits webhook={webhook} />
      </div>
      {verify.error && webhook.status === 'unverified' && <ProblemNote error={verify.error} isAction />}
      {activationError && webhook.status !== 'active' && <ProblemNote error={activationError} isAction />}
      {!isSlim && <WebhookNote webhook={webhook} isSlim={false} />}
      <nav className="tabs" aria-label={t`Sections of the webhook`}>
        {tabs.map(({ key, name }) => (
          <Link
            key={key}
            to="/webhooks/$webhookId"
            params={{ webhookId: webhook.id }}
            search={key === 'deliveries' ? {} : { tab: key }}
            activeOptions={{ exact: true }}
            aria-current={shown === key ? 'page' : undefined}
            resetScroll={false}
          >
            {name}
          </Link>
        ))}
      </nav>
      {isSlim && <WebhookNote webhook={webhook} isSlim />}
      <TabPanel tab={shown} webhook={webhook} />
    </>
  );
}

const parts = {
  activity: () => import('./activity').then((module) => ({ default: module.Activity })),
  settings: () => import('./webhook-settings').then((module) => ({ default: module.WebhookSettings })),
  test: () => import('./test-view').then((module) => ({ default: module.TestView })),
  receiver: () => import('../receiver/receiver-tab').then((module) => ({ default: module.ReceiverTab })),
};

const Activity = lazy(parts.activity);
const Settings = lazy(parts.settings);
const TestView = lazy(parts.test);
const ReceiverTab = lazy(parts.receiver);

/**
 * A tab of a webhook. If it cannot be loaded, the rest of the page stays. It is loaded before it is opened, so that it
 * opens even if the service has become unreachable since.
 */
export function TabPanel({ tab, webhook }: { tab: string; webhook: Webhook }) {
  useEffect(
    () =>
      whenIdle(() => {
        for (const load of Object.values(parts)) load().catch(() => undefined);
      }),
    [],
  );
  return (
    <CatchBoundary getResetKey={() => tab} errorComponent={ViewError}>
      <Suspense fallback={<Skeleton />}>
        {tab === 'deliveries' && <DeliveryTable webhook={webhook} />}
        {tab === 'activity' && <Activity webhook={webhook} />}
        {tab === 'settings' && <Settings webhook={webhook} />}
        {tab === 'test' && <TestView webhook={webhook} />}
        {tab === 'receiver' && <ReceiverTab webhook={webhook} />}
      </Suspense>
    </CatchBoundary>
  );
}
