import { useQuery } from '@tanstack/react-query';
import { Navigate, useParams } from '@tanstack/react-router';
import { findDelivery } from '../../api/deliveries';
import { Loaded } from '../../parts/loaded';

/** Redirects from a delivery's ID, without its webhook, to its page. */
export function FoundDelivery() {
  const { deliveryId } = useParams({ from: '/deliveries/$deliveryId' });
  const query = useQuery({
    queryKey: ['deliveries', 'find', deliveryId],
    queryFn: ({ signal }) => findDelivery(deliveryId, signal),
  });
  return (
    <Loaded query={query}>
      {({ webhook_id, id }) => (
        <Navigate
          to="/webhooks/$webhookId/deliveries/$deliveryId"
          params={{ webhookId: webhook_id, deliveryId: id }}
          replace
        />
      )}
    </Loaded>
  );
}
