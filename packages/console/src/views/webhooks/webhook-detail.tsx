import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { problemIn } from '../../api/problem';
import { type JudgedWebhook, webhookQuery } from '../../api/webhooks';
import { useLive } from '../../live';
import { rereadAfterMs } from '../../next-attempt';
import { Breadcrumb } from '../../parts/breadcrumb';
import { Forbidden } from '../../parts/forbidden';
import { Identifier } from '../../parts/identifier';
import { Loaded } from '../../parts/loaded';
import { ProblemNote } from '../../parts/problem-note';
import { WebhookTag, webhookName } from '../../parts/webhook-tag';
import { usePermission } from '../../permission';
import { useShownItem } from '../../shown-item';
import { StatusButton } from './status-button';
import { TabPanel } from './tab-panel';
import { isDeletionUnresolved } from './unresolved-deletions';
import { useVerification, VerifyButton } from './verify-button';
import { WebhookNote } from './webhook-note';

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
  if (!may.readWebhooks) return <Forbidden action="see webhooks" scopes={['webhooks:read']} />;
  return (
    <>
      <Breadcrumb>
        <Link to="/webhooks">Webhooks</Link>
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
      <b>The webhook was deleted.</b>
      <div className="actions">
        <Link to="/webhooks" className="btn slim">
          All webhooks
        </Link>
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
    { key: 'deliveries', name: 'Deliveries' },
    { key: 'activity', name: 'Activity' },
    { key: 'settings', name: 'Settings' },
    ...(may.send
      ? [
          { key: 'test', name: 'Test' },
          { key: 'receiver', name: 'Receiver' },
        ]
      : []),
  ];
  const shown = tabs.some(({ key }) => key === tab) ? tab : 'deliveries';
  return (
    <>
      <div className="head">
        <h1>{webhookName(webhook)}</h1>
        <WebhookTag webhook={webhook} />
        <Identifier id={webhook.id} />
        <span className="grow" />
        {/* The button to disable comes first: it must not appear below the pointer after "Verify now" or "Activate". */}
        {may.send && <StatusButton webhook={webhook} onActivationError={setActivationError} />}
        {may.send && webhook.status === 'active' && (
          <Link to="/webhooks/$webhookId/replay" params={{ webhookId: webhook.id }} className="btn">
            Replay…
          </Link>
        )}
        {may.send && webhook.status === 'unverified' && <VerifyButton verify={verify} isPrimary />}
        {(webhook.description || !webhook.url.includes(webhookName(webhook))) && (
          <p className="lead mono">{webhook.url}</p>
        )}
      </div>
      {verify.error && webhook.status === 'unverified' && <ProblemNote error={verify.error} isAction />}
      {activationError && webhook.status === 'disabled' && <ProblemNote error={activationError} isAction />}
      {/* The result of a test says the same, for that request. */}
      {shown !== 'test' && <WebhookNote webhook={webhook} />}
      <nav className="tabs" aria-label="Sections of the webhook">
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
      <TabPanel tab={shown} webhook={webhook} />
    </>
  );
}
