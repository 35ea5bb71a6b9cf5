import type { Token } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { webhooksQuery } from '../api/webhooks';
import { useLive } from '../live';
import { needsAttention } from '../parts/webhook-tag';
import { permissionOf } from '../permission';

const slowMs = 60_000;

/** Returns how many webhooks need attention, for the navigation. */
export function useAttention(token: Token | undefined): number {
  const { refetchInterval } = useLive();
  const { data } = useQuery({
    ...webhooksQuery,
    enabled: token !== undefined && permissionOf(token.scopes).readWebhooks,
    refetchInterval: refetchInterval || slowMs,
  });
  return data?.filter(needsAttention).length ?? 0;
}
