import type { DeliveryDetail, Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useLive } from '../address/live';
import { eventDeliveriesQuery } from '../api/events';
import { DeliveryLink, WebhookLink } from '../parts/links';
import { Note } from '../parts/note';
import { usePermission } from '../session/token';
import { formatMs } from '../text/format';
import { plural, rich, t } from '../text/language';
import { outcomeOf } from '../text/outcome';
import { TimeAgo, WithTimes } from '../text/time';
import { ChangeUrl, redirectTarget } from '../webhooks/remedies';
import { DeliveryTag } from './delivery-tag';
import { isHeld } from './next-attempt';

/** What happened and what to do about it, at the top of the page. */
export function Diagnosis({ delivery, webhook }: { delivery: DeliveryDetail; webhook: Webhook | undefined }) {
  const may = usePermission();
  const latest = delivery.attempt_log.at(-1);
  if (delivery.status === 'success') {
    const { attempts, http_status: status, duration_ms: ms } = delivery;
    const response =
      ms === null
        ? t`the receiver responded with ${Number(status)}.`
        : t`the receiver responded with ${Number(status)} in ${formatMs(ms)}.`;
    return (
      <Note
        kind="ok"
        title={`${plural(attempts, 'Delivered:', 'Delivered after {0} attempts:')} ${response}`}
      />
    );
  }
  const openWebhook = (
    <WebhookLink id={delivery.webhook_id} className="btn slim">{t`Open the webhook`}</WebhookLink>
  );
  if (isHeld(delivery)) {
    return (
      <Note
        kind="warn"
        title={t`This delivery is waiting until the webhook is active.`}
        actions={openWebhook}
      >
        <p>{t`The webhook is paused or not verified. After that, the attempts continue.`}</p>
        {latest?.error_detail && (
          <p className="small">{rich`Latest attempt: ${<WithTimes text={latest.error_detail} />}`}</p>
        )}
      </Note>
    );
  }
  if (!latest && delivery.final) {
    return (
      <Note title={t`Not sent: the webhook was disabled before the first attempt.`} actions={openWebhook}>
        <p>{t`If the webhook is still disabled, activate it. Then redeliver the event, or replay a time range.`}</p>
      </Note>
    );
  }
  if (!latest) {
    return (
      <Note kind="calm" title={t`No attempt yet.`}>
        <p>{t`The delivery is waiting for its first attempt.`}</p>
      </Note>
    );
  }
  const alike = delivery.attempt_log.filter(
    ({ http_status, error }) => http_status === latest.http_status && error === latest.error,
  ).length;
  const target = webhook && redirectTarget(delivery, webhook);
  const isDisabled = delivery.error === 'disabled';
  const isAboutSignature = /secret|signature|raw body/.test(latest.remedy ?? '');
  return (
    <Note
      kind={delivery.final ? '' : 'warn'}
      title={latest.error_detail ?? t`The latest attempt failed: ${outcomeOf(latest)}.`}
      actions={
        (isDisabled || target || isAboutSignature) && (
          <>
            {isDisabled && openWebhook}
            {target && may.send && <ChangeUrl webhook={webhook} url={target} kind="slim" />}
            {isAboutSignature && <Link to="/verify" className="btn slim">{t`Check a signature…`}</Link>}
          </>
        )
      }
    >
      <p>
        {latest.remedy && <WithTimes text={latest.remedy} />}{' '}
        {delivery.attempts > 1 && t`${alike} of ${delivery.attempts} attempts ended this way.`}{' '}
        {isDisabled
          ? t`Then the webhook was disabled. If it is still disabled, activate it before you redeliver the event.`
          : delivery.final && t`The delivery will not be retried automatically.`}
      </p>
    </Note>
  );
}

/** The newest delivery of the same event to the same webhook, if this one ended without success and was repeated. */
export function LaterDelivery({ delivery }: { delivery: DeliveryDetail }) {
  const may = usePermission();
  const { refetchInterval } = useLive();
  const hasFailed = delivery.status === 'failed' && delivery.final;
  const { data } = useQuery({
    ...eventDeliveriesQuery(delivery.event_id),
    enabled: may.readEvents && hasFailed,
    refetchInterval,
  });
  const later = data?.data.find(
    ({ webhook_id, created_at }) => webhook_id === delivery.webhook_id && created_at > delivery.created_at,
  );
  if (!hasFailed || !later) return null;
  return (
    <p className="later">
      <span>{rich`Sent again ${<TimeAgo at={later.created_at} />}:`}</span>
      <DeliveryTag delivery={later} />
      <DeliveryLink of={later} className="link">{t`Open the newer delivery`}</DeliveryLink>
    </p>
  );
}
