import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { productName, useSettings } from '../api/settings';
import { type JudgedWebhook, type ShownStatus, shownStatusOf } from '../api/webhook-verdict';
import { webhookStatsQuery } from '../api/webhooks';
import { excerptOf } from '../deliveries/excerpt';
import { DeliveryLink, WebhookLink } from '../parts/links';
import { Note } from '../parts/note';
import { usePermission } from '../session/token';
import { useNow } from '../text/clock';
import { formatMs } from '../text/format';
import { plural, rich, t } from '../text/language';
import { Countdown, TimeAgo, WithTimes } from '../text/time';
import { ChangeUrl, redirectTarget, useLatestFailure } from './remedies';
import { Severity } from './severity';

const disabledBecause = {
  gone: t`This webhook was disabled: its receiver responded with 410 Gone.`,
  failing: t`This webhook was disabled: every attempt failed for 5 days.`,
  manual: t`This webhook is disabled.`,
};

const notAccepted = t`The receiver did not accept the latest delivery.`;
const askedToWait = t`The receiver asked the service to wait.`;
const notVerified = t`The receiver has not been verified yet.`;
const isPaused = t`This webhook is paused: nothing is sent.`;

/** If the webhook is not active, is failing or waits, shows why and what to do about it; in a slim note, only why. */
export function WebhookNote({ webhook, isSlim }: { webhook: JudgedWebhook; isSlim: boolean }) {
  const status = shownStatusOf(webhook);
  if (isSlim) return <SlimNote webhook={webhook} status={status} />;
  return (
    <>
      {webhook.status === 'unverified' && <Unverified webhook={webhook} />}
      {(status === 'failing' || status === 'waiting') && (
        <LatestFailure webhook={webhook} isProblem={status === 'failing'} />
      )}
      {webhook.status === 'disabled' && (
        <Note
          kind={webhook.disabled_reason === 'manual' ? 'calm' : ''}
          title={disabledBecause[webhook.disabled_reason ?? 'manual']}
        >
          <p>{t`It receives no events. After you activate it, you can replay the events that it missed.`}</p>
        </Note>
      )}
      {webhook.status === 'paused' && <Paused webhook={webhook} />}
      <Grace webhook={webhook} />
    </>
  );
}

/** Says what a pause does, and how much waits for its end. */
function Paused({ webhook }: { webhook: Webhook }) {
  const { data } = useQuery({ ...webhookStatsQuery(webhook.id), refetchInterval: 5_000 });
  const waiting = data?.pending ?? 0;
  return (
    <Note kind="calm" title={isPaused}>
      <p>
        {waiting === 0
          ? t`No deliveries are waiting so far. New events create deliveries that wait until you resume it.`
          : plural(
              waiting,
              '{0} delivery waits, and new events add to it. When you resume the webhook, all are sent, oldest first.',
              '{0} deliveries wait, and new events add to them. When you resume the webhook, all are sent, oldest first.',
            )}
        {data?.oldest_undelivered_at && (
          <> {rich`The oldest was created ${<TimeAgo at={data.oldest_undelivered_at} />}.`}</>
        )}
      </p>
      {webhook.verification_failure && (
        <p>
          {rich`The latest verification failed: ${<WithTimes text={webhook.verification_failure.error_detail} />}`}
        </p>
      )}
    </Note>
  );
}

function SlimNote({ webhook, status }: { webhook: JudgedWebhook; status: ShownStatus }) {
  const { delivery } = useLatestFailure(webhook);
  const [kind, cause] = {
    active: [],
    failing: ['', delivery?.attempt_log.at(-1)?.error_detail ?? notAccepted],
    waiting: ['calm', askedToWait],
    unverified: ['warn', webhook.verification_failure?.error_detail ?? notVerified],
    disabled: ['', disabledBecause[webhook.disabled_reason ?? 'manual']],
    disabled_manually: ['calm', disabledBecause.manual],
    paused: ['calm', isPaused],
  }[status];
  if (!cause) return <Grace webhook={webhook} />;
  return (
    <div className={`note slim ${kind}`}>
      <b className="cut" title={cause}>
        <WithTimes text={cause} />
      </b>
      <WebhookLink id={webhook.id} className="link nowrap">{t`What to do`}</WebhookLink>
    </div>
  );
}

function Unverified({ webhook }: { webhook: Webhook }) {
  const name = productName(useSettings());
  const failure = webhook.verification_failure;
  const toTab = (tab: string, label: string) => (
    <WebhookLink id={webhook.id} tab={tab} className="btn slim">
      {label}
    </WebhookLink>
  );
  return (
    <Note
      kind="warn"
      title={failure?.error_detail ?? notVerified}
      actions={
        usePermission().send && (
          <>
            {toTab('receiver', t`Code for the receiver`)}
            {toTab('settings', t`Change the URL`)}
          </>
        )
      }
    >
      <p>
        <WithTimes
          text={
            failure?.remedy ??
            t`It must respond to the verification request with exactly 200 within 5 seconds.`
          }
        />
      </p>
      <p>{t`The webhook receives no events until it is verified. ${name} tries again up to five times in the first 15 hours. Once the webhook is verified, you can replay the events that it missed.`}</p>
      {failure && (
        <p className="small">
          {rich`Last tried ${<TimeAgo at={failure.at} />}. The attempt took ${formatMs(failure.duration_ms)}.`}
          {failure.response && (
            <> {rich`The response begins ${<code>{excerptOf(failure.response)}</code>}`}</>
          )}
        </p>
      )}
    </Note>
  );
}

/** Says why the latest failed delivery failed. */
function LatestFailure({ webhook, isProblem }: { webhook: JudgedWebhook; isProblem: boolean }) {
  const may = usePermission();
  const { delivery, isPending } = useLatestFailure(webhook);
  const target = delivery && redirectTarget(delivery, webhook);
  const attempt = delivery?.attempt_log.at(-1);
  return (
    <Note
      kind={isProblem ? '' : 'calm'}
      title={attempt?.error_detail ?? (isProblem ? notAccepted : askedToWait)}
      actions={
        delivery && (
          <>
            <DeliveryLink
              of={delivery}
              className="btn slim"
            >{t`See the latest failed delivery`}</DeliveryLink>
            {target && may.send && <ChangeUrl webhook={webhook} url={target} kind="slim" />}
          </>
        )
      }
    >
      <p>
        <WithTimes text={attempt?.remedy ?? '\u00a0'} />
      </p>
      <p className="small">
        <Severity webhook={webhook} />
      </p>
      {isPending && <div className="actions pending" />}
    </Note>
  );
}

/** Shows how long the old secret will still sign requests. */
function Grace({ webhook: { previous_secret_until: until } }: { webhook: Webhook }) {
  const now = useNow();
  if (!until || Date.parse(until) <= now) return null;
  return (
    <Note kind="calm" title={rich`The old secret expires ${<Countdown to={until} />}.`}>
      <p>{t`Until then, requests are signed with both secrets. Give your receiver the new one before then.`}</p>
    </Note>
  );
}
