import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useLive } from '../address/live';
import { webhookName } from '../api/webhook-name';
import type { JudgedWebhook } from '../api/webhook-verdict';
import { webhookQuery } from '../api/webhooks';
import { useZone } from '../browser/preferences';
import { DeliveryTable } from '../deliveries/delivery-list';
import { rereadAfterMs } from '../deliveries/next-attempt';
import { Breadcrumb, Identifier } from '../parts/head';
import { Loaded, ProblemNote } from '../parts/states';
import { ReceiverTab } from '../receiver/receiver-code';
import { usePermission } from '../session/token';
import { useShownItem } from '../shell/views';
import { useNow } from '../text/clock';
import { formatRelative, formatSecond } from '../text/format';
import { t } from '../text/language';
import { formats } from '../webhook-editors/formats';
import { attemptsText, useWaitsMs } from '../webhook-form/waits';
import { Activity } from './activity';
import { useVerification, VerifyButton } from './remedies';
import { StatusButtons } from './status-button';
import { TestView } from './test-view';
import { WebhookNote } from './webhook-note';
import { WebhookSettings } from './webhook-settings';
import { WebhookTag } from './webhook-tag';

export function WebhookDetail() {
  const { webhookId } = useParams({ from: '/webhooks/$webhookId' });
  const { refetchInterval } = useLive();
  const webhook = useQuery({
    ...webhookQuery(webhookId),
    refetchInterval: ({ state }: { state: { data: JudgedWebhook | undefined } }) =>
      refetchInterval || rereadAfterMs([state.data?.waitsUntil], Date.now()),
  });
  useShownItem(webhook.data && webhookName(webhook.data));
  return (
    <>
      <Breadcrumb>
        <Link to="/webhooks">{t`Webhooks`}</Link>
      </Breadcrumb>
      <Loaded query={webhook}>{(data) => <Detail key={data.id} webhook={data} />}</Loaded>
    </>
  );
}

function Detail({ webhook }: { webhook: JudgedWebhook }) {
  const may = usePermission();
  const verify = useVerification(webhook);
  const { tab = 'deliveries' } = useSearch({ from: '/webhooks/$webhookId' });
  const tabs = [
    { key: 'deliveries', name: t`Deliveries` },
    { key: 'activity', name: t`Activity` },
    { key: 'settings', name: t`Settings` },
    { key: 'test', name: t`Test`, sends: true },
    { key: 'receiver', name: t`Receiver`, sends: true },
  ].filter(({ sends }) => may.send || !sends);
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
        {may.send && <StatusButtons webhook={webhook} />}
        {may.send && webhook.status === 'active' && (
          <Link
            to="/webhooks/$webhookId/replay"
            params={{ webhookId: webhook.id }}
            className="btn"
          >{t`Replay…`}</Link>
        )}
        {may.send && webhook.status === 'unverified' && <VerifyButton verify={verify} kind="primary" />}
        {(webhook.description || !webhook.url.includes(webhookName(webhook))) && (
          <p className="lead mono">{webhook.url}</p>
        )}
        <WebhookTraits webhook={webhook} />
      </div>
      {verify.error && webhook.status === 'unverified' && <ProblemNote error={verify.error} isAction />}
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
      {shown === 'deliveries' && <DeliveryTable webhook={webhook} />}
      {shown === 'activity' && <Activity webhook={webhook} />}
      {shown === 'settings' && <WebhookSettings webhook={webhook} />}
      {shown === 'test' && <TestView webhook={webhook} />}
      {shown === 'receiver' && <ReceiverTab webhook={webhook} />}
    </>
  );
}

const soonMs = 3 * 86_400_000;

/** What is special about a webhook, in a line. */
export function WebhookTraits({ webhook }: { webhook: Webhook }) {
  const { filter, format, retry_schedule: waits, expires_at: at } = webhook;
  const waitsMs = useWaitsMs(waits);
  const now = useNow(15_000);
  const shownZone = useZone();
  if (!filter && format === 'envelope' && !waits && !at) return null;
  const atMs = at ? Date.parse(at) : 0;
  return (
    <p className="lead traits">
      {filter && <span>{t`With a filter`}</span>}
      {format !== 'envelope' && <span>{t`Body: ${formats[format].name}`}</span>}
      {waits && <span>{attemptsText(waitsMs)}</span>}
      {at && (
        <span className={atMs - now < soonMs ? 'warn-text' : undefined} title={formatSecond(atMs, shownZone)}>
          {t`Deletes itself ${formatRelative(atMs, now)}`}
        </span>
      )}
    </p>
  );
}
