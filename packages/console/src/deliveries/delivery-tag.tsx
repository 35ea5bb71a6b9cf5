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

const errorNames: Record<string, string> = {
  dns: t`Host not found`,
  connect: t`Could not connect`,
  tls: t`TLS failed`,
  timeout: t`No response in time`,
  reset: t`Connection closed`,
  protocol: t`Not HTTP`,
  blocked_address: t`Address not allowed`,
  disabled: t`Webhook disabled`,
};

/** Returns the result of the latest attempt: a status, or why there was none. */
export function outcomeOf({ http_status, error }: Pick<Delivery, 'http_status' | 'error'>): string {
  if (http_status !== null) return String(http_status);
  return error === null ? '–' : (errorNames[error] ?? error.replaceAll('_', ' '));
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
