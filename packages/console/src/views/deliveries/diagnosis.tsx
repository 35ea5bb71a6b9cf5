import type { DeliveryDetail, Webhook } from '@posthorn/client';
import { Link } from '@tanstack/react-router';
import { formatMs, plural } from '../../format';
import { isHeld } from '../../next-attempt';
import { outcomeOf } from '../../parts/delivery-tag';
import { WithTimes } from '../../parts/with-times';
import { usePermission } from '../../permission';
import { ChangeUrl, redirectTarget } from '../webhooks/change-url';

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
    const tries = delivery.attempts === 1 ? '' : ` after ${plural(delivery.attempts, 'attempt')}`;
    return (
      <div className="note ok">
        <b>
          Delivered{tries}: the receiver responded with {delivery.http_status}
          {delivery.duration_ms !== null && ` in ${formatMs(delivery.duration_ms)}`}.
        </b>
      </div>
    );
  }
  if (isHeld(delivery)) {
    return (
      <div className="note warn">
        <b>This delivery is waiting until the webhook is verified.</b>
        <p>After that, the attempts continue.</p>
        {latest?.error_detail && (
          <p className="small">
            Latest attempt: <WithTimes text={latest.error_detail} />
          </p>
        )}
        <OpenWebhook webhookId={webhookId} />
      </div>
    );
  }
  if (!latest && delivery.final) {
    return (
      <div className="note">
        <b>Not sent: the webhook was disabled before the first attempt.</b>
        <p>
          If the webhook is still disabled, activate it. Then redeliver the event, or replay a time range.
        </p>
        <OpenWebhook webhookId={webhookId} />
      </div>
    );
  }
  if (!latest) {
    return (
      <div className="note calm">
        <b>No attempt yet.</b>
        <p>The delivery is waiting for its first attempt.</p>
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
        <WithTimes text={latest.error_detail ?? `The latest attempt failed: ${outcomeOf(latest)}.`} />
      </b>
      <p>
        {latest.remedy && <WithTimes text={latest.remedy} />}{' '}
        {delivery.attempts > 1 && `${alike} of ${plural(delivery.attempts, 'attempt')} ended this way.`}{' '}
        {isDisabled
          ? 'Then the webhook was disabled. If it is still disabled, activate it before you redeliver the event.'
          : delivery.final && 'The delivery will not be retried automatically.'}
      </p>
      {isDisabled && <OpenWebhook webhookId={webhookId} />}
      {target && may.send && (
        <div className="actions">
          <ChangeUrl webhook={webhook} url={target} isSlim />
        </div>
      )}
    </div>
  );
}

function OpenWebhook({ webhookId }: { webhookId: string }) {
  return (
    <div className="actions">
      <Link to="/webhooks/$webhookId" params={{ webhookId }} className="btn slim">
        Open the webhook
      </Link>
    </div>
  );
}
