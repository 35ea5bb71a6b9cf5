import type { Token } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { webhooksQuery } from '../api/webhooks';
import { useLive } from '../live';
import { needsAttention } from '../parts/webhook-tag';
import { permissionOf } from '../permission';
import { inWorkspace, useWorkspace } from '../workspace';

const slowMs = 60_000;

/** Returns how many webhooks of the chosen workspace need attention, for the navigation. */
export function useAttention(token: Token | undefined): number {
  const { refetchInterval } = useLive();
  const { workspaceId } = useWorkspace();
  const { data } = useQuery({
    ...webhooksQuery,
    enabled: token !== undefined && permissionOf(token.scopes).readWebhooks,
    refetchInterval: refetchInterval || slowMs,
  });
  return inWorkspace(data ?? [], workspaceId).filter(needsAttention).length;
}
