import type { Delivery } from '@posthorn/client';
import { t } from './language';

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
