import type { Delivery } from '@posthorn/client';
import { WebhookLink } from '../parts/links';
import { t } from '../text/language';

export function DeliveryTag({ delivery }: { delivery: Pick<Delivery, 'status' | 'final'> }) {
  if (delivery.status === 'success') return <span className="tag ok quiet">{t`Delivered`}</span>;
  if (delivery.status === 'pending') return <span className="tag mute">{t`Pending`}</span>;
  return delivery.final ? (
    <span className="tag bad">{t`Given up`}</span>
  ) : (
    <span className="tag warn">{t`Retrying`}</span>
  );
}

/**
 * A note in a row: the delivery is waiting until its webhook is active. Links to the webhook's page, which says what to
 * do.
 */
export function HeldNote({ webhookId }: { webhookId: string }) {
  return (
    <WebhookLink
      id={webhookId}
      className="link above"
      title={t`The delivery is waiting until the webhook is active: verified, and not paused.`}
    >{t`waiting for the webhook`}</WebhookLink>
  );
}
