import { useQuery } from '@tanstack/react-query';
import type { TokenInfo } from '../api/types';
import { webhooksQuery } from '../api/webhooks';
import { useLive } from '../live';
import { needsAttention } from '../parts/webhook-tag';
import { permissionOf } from '../permission';

const slowMs = 60_000;

/** Returns how many webhooks need attention, for the navigation. */
export function useAttention(token: TokenInfo | undefined): number {
  const { refetchInterval } = useLive();
  const { data } = useQuery({
    ...webhooksQuery,
    enabled: token !== undefined && permissionOf(token.scopes).readWebhooks,
    refetchInterval: refetchInterval || slowMs,
  });
  return data?.filter(needsAttention).length ?? 0;
}
