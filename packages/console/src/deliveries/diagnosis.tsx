import type { DeliveryDetail, Webhook } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useLive } from '../address/live';
import { eventDeliveriesQuery } from '../api/events';
import { DeliveryLink, WebhookLink } from '../parts/links';
import { usePermission } from '../session/token';
import { formatMs } from '../text/format';
import { plural, rich, t } from '../text/language';
import { TimeAgo, WithTimes } from '../text/time';
import { ChangeUrl, redirectTarget } from '../webhooks/remedies';
import { DeliveryTag, outcomeOf } from './delivery-tag';
import { isHeld } from './next-attempt';

/** What happened and what to do about it, at the top of the page. */
export function Diagnosis({
  delivery,
  webhookId,
  webhook,
}: {
  delivery: DeliveryDetail;
  webhookId: string;
  /** Undefined until it is loaded. */
  webhook: Webhook | undefined;
}) {
  const may = usePermission();
  const latest = delivery.attempt_log.at(-1);
  if (delivery.status === 'success') {
    const { attempts, http_status: status, duration_ms: ms } = delivery;
    const response =
      ms === null
        ? t`the receiver responded with ${Number(status)}.`
        : t`the receiver responded with ${Number(status)} in ${formatMs(ms)}.`;
    return (
      <div className="note ok">
        <b>
          {plural(attempts, 'Delivered:', 'Delivered after {0} attempts:')} {response}
        </b>
      </div>
    );
  }
  if (isHeld(delivery)) {
    return (
      <div className="note warn">
        <b>{t`This delivery is waiting until the webhook is active.`}</b>
        <p>{t`The webhook is paused or not verified. After that, the attempts continue.`}</p>
        {latest?.error_detail && (
          <p className="small">{rich`Latest attempt: ${<WithTimes text={latest.error_detail} />}`}</p>
        )}
        <OpenWebhook webhookId={webhookId} />
      </div>
    );
  }
  if (!latest && delivery.final) {
    return (
      <div className="note">
        <b>{t`Not sent: the webhook was disabled before the first attempt.`}</b>
        <p>{t`If the webhook is still disabled, activate it. Then redeliver the event, or replay a time range.`}</p>
        <OpenWebhook webhookId={webhookId} />
      </div>
    );
  }
  if (!latest) {
    return (
      <div className="note calm">
        <b>{t`No attempt yet.`}</b>
        <p>{t`The delivery is waiting for its first attempt.`}</p>
      </div>
    );
  }
  const alike = delivery.attempt_log.filter(
    ({ http_status, error }) => http_status === latest.http_status && error === latest.error,
  ).length;
  const target = webhook && redirectTarget(delivery, webhook);
  const isDisabled = delivery.error === 'disabled';
  return (
    <div className={delivery.final ? 'note' : 'note warn'}>
      <b>
        <WithTimes text={latest.error_detail ?? t`The latest attempt failed: ${outcomeOf(latest)}.`} />
      </b>
      <p>
        {latest.remedy && <WithTimes text={latest.remedy} />}{' '}
        {delivery.attempts > 1 && t`${alike} of ${delivery.attempts} attempts ended this way.`}{' '}
        {isDisabled
          ? t`Then the webhook was disabled. If it is still disabled, activate it before you redeliver the event.`
          : delivery.final && t`The delivery will not be retried automatically.`}
      </p>
      {isDisabled && <OpenWebhook webhookId={webhookId} />}
      {target && may.send && (
        <div className="actions">
          <ChangeUrl webhook={webhook} url={target} isSlim />
        </div>
      )}
      {/secret|signature|raw body/.test(latest.remedy ?? '') && (
        <div className="actions">
          <Link to="/verify" className="btn slim">{t`Check a signature…`}</Link>
        </div>
      )}
    </div>
  );
}

function OpenWebhook({ webhookId }: { webhookId: string }) {
  return (
    <div className="actions">
      <WebhookLink id={webhookId} className="btn slim">{t`Open the webhook`}</WebhookLink>
    </div>
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
