import type { Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { productName, useSettings } from '../api/settings';
import { type JudgedWebhook, type ShownStatus, shownStatusOf } from '../api/webhook-verdict';
import { webhookStatsQuery } from '../api/webhooks';
import { excerptOf } from '../deliveries/excerpt';
import { DeliveryLink, WebhookLink } from '../parts/links';
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
        <div className={webhook.disabled_reason === 'manual' ? 'note calm' : 'note'}>
          <b>{disabledBecause[webhook.disabled_reason ?? 'manual']}</b>
          <p>{t`It receives no events. After you activate it, you can replay the events that it missed.`}</p>
        </div>
      )}
      {webhook.status === 'paused' && <Paused webhook={webhook} />}
      {webhook.previous_secret_until && <Grace until={webhook.previous_secret_until} />}
    </>
  );
}

/** Says what a pause does, and how much waits for its end. */
function Paused({ webhook }: { webhook: Webhook }) {
  const { data } = useQuery({ ...webhookStatsQuery(webhook.id), refetchInterval: 5_000 });
  const waiting = data?.pending ?? 0;
  return (
    <div className="note calm">
      <b>{t`This webhook is paused: nothing is sent.`}</b>
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
    </div>
  );
}

function SlimNote({ webhook, status }: { webhook: JudgedWebhook; status: ShownStatus }) {
  const { delivery } = useLatestFailure(webhook);
  const cause = {
    active: undefined,
    failing:
      delivery?.attempt_log.at(-1)?.error_detail ?? t`The receiver did not accept the latest delivery.`,
    waiting: t`The receiver asked the service to wait.`,
    unverified: webhook.verification_failure?.error_detail ?? t`The receiver has not been verified yet.`,
    disabled: disabledBecause[webhook.disabled_reason ?? 'manual'],
    disabled_manually: disabledBecause.manual,
    paused: t`This webhook is paused: nothing is sent.`,
  }[status];
  if (!cause) return webhook.previous_secret_until && <Grace until={webhook.previous_secret_until} />;
  return (
    <div
      className={`note slim ${{ failing: '', disabled: '', unverified: 'warn' }[status as string] ?? 'calm'}`}
    >
      <b className="cut" title={cause}>
        <WithTimes text={cause} />
      </b>
      <WebhookLink id={webhook.id} className="link nowrap">{t`What to do`}</WebhookLink>
    </div>
  );
}

function Unverified({ webhook }: { webhook: Webhook }) {
  const may = usePermission();
  const name = productName(useSettings());
  const failure = webhook.verification_failure;
  return (
    <div className="note warn">
      <b>
        <WithTimes text={failure?.error_detail ?? t`The receiver has not been verified yet.`} />
      </b>
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
      {may.send && (
        <div className="actions">
          <WebhookLink
            id={webhook.id}
            tab="receiver"
            className="btn slim"
          >{t`Code for the receiver`}</WebhookLink>
          <WebhookLink id={webhook.id} tab="settings" className="btn slim">{t`Change the URL`}</WebhookLink>
        </div>
      )}
    </div>
  );
}

/** Says why the latest failed delivery failed. */
function LatestFailure({ webhook, isProblem }: { webhook: JudgedWebhook; isProblem: boolean }) {
  const may = usePermission();
  const { delivery, isPending } = useLatestFailure(webhook);
  const target = delivery && redirectTarget(delivery, webhook);
  const attempt = delivery?.attempt_log.at(-1);
  return (
    <div className={isProblem ? 'note' : 'note calm'}>
      <b>
        <WithTimes
          text={
            attempt?.error_detail ??
            (isProblem
              ? t`The receiver did not accept the latest delivery.`
              : t`The receiver asked the service to wait.`)
          }
        />
      </b>
      <p>
        <WithTimes text={attempt?.remedy ?? '\u00a0'} />
      </p>
      <p className="small">
        <Severity webhook={webhook} />
      </p>
      {isPending && <div className="actions pending" />}
      {delivery && (
        <div className="actions">
          <DeliveryLink of={delivery} className="btn slim">{t`See the latest failed delivery`}</DeliveryLink>
          {target && may.send && <ChangeUrl webhook={webhook} url={target} isSlim />}
        </div>
      )}
    </div>
  );
}

/** Shows how long the old secret will still sign requests. */
function Grace({ until }: { until: string }) {
  const now = useNow();
  if (Date.parse(until) <= now) return null;
  return (
    <div className="note calm">
      <b>{rich`The old secret expires ${<Countdown to={until} />}.`}</b>
      <p>{t`Until then, requests are signed with both secrets. Give your receiver the new one before then.`}</p>
    </div>
  );
}
