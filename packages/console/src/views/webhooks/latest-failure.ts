import type { DeliveryDetail } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { useLive } from '../../address/live';
import { deliveryQuery, latestFailureQuery } from '../../api/deliveries';
import type { JudgedWebhook } from '../../api/webhooks';

/** Reads the delivery that shows why the latest attempt of a webhook failed. */
export function useLatestFailure({ id, latestFailure }: JudgedWebhook): {
  delivery: DeliveryDetail | null | undefined;
  isPending: boolean;
} {
  const { refetchInterval } = useLive();
  const known = useQuery({
    ...deliveryQuery(id, latestFailure?.id ?? ''),
    enabled: latestFailure !== undefined,
    refetchInterval,
  });
  const found = useQuery({
    ...latestFailureQuery(id),
    enabled: latestFailure === undefined,
    refetchInterval,
  });
  const { data: delivery, isPending } = latestFailure ? known : found;
  return { delivery, isPending };
}
