import type { DeliveryDetail } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { eventDeliveriesQuery } from '../../api/events';
import { useLive } from '../../live';
import { DeliveryTag } from '../../parts/delivery-tag';
import { TimeAgo } from '../../parts/time';
import { usePermission } from '../../permission';

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
      <span>
        Sent again <TimeAgo at={later.created_at} />:
      </span>
      <DeliveryTag delivery={later} />
      <Link
        to="/webhooks/$webhookId/deliveries/$deliveryId"
        params={{ webhookId: later.webhook_id, deliveryId: later.id }}
        className="link"
      >
        Open the newer delivery
      </Link>
    </p>
  );
}
