import type { Token } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { tokenQuery } from './api/token';
import { useIsPast } from './clock';

const checkMs = 30_000;

/**
 * Ends the session when the token expires, even if the page is not used. The clock of the browser may be wrong, so the
 * service is asked for the token first. If the token has expired, the response ends the session, as every 401 does. If
 * not, the service is asked again later.
 */
export function useSessionEnd(token: Token | undefined): void {
  const isOver = useIsPast(token ? Date.parse(token.expires_at) : Number.POSITIVE_INFINITY);
  useQuery({
    ...tokenQuery,
    queryKey: [...tokenQuery.queryKey, 'end'],
    enabled: isOver,
    refetchInterval: checkMs,
  });
}
