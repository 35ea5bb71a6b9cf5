import type { Delivery } from '../api/types';

export function DeliveryTag({ delivery }: { delivery: Pick<Delivery, 'status' | 'final' | 'attempts'> }) {
  if (delivery.status === 'success') return <span className="tag ok">Delivered</span>;
  if (delivery.status === 'pending' || delivery.attempts === 0)
    return <span className="tag mute">Pending</span>;
  return delivery.final ? (
    <span className="tag bad">Given up</span>
  ) : (
    <span className="tag warn">Retrying</span>
  );
}

/** What the receiver returned to the latest attempt: a status, or why there was none. */
export function outcomeOf({ http_status, error }: Pick<Delivery, 'http_status' | 'error'>): string {
  return http_status === null ? (error ?? '–').replace('_', ' ') : String(http_status);
}
