import type { Token } from '@posthorn/client';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { posthorn } from '../api/client';

/** The tab's token: its actor, and what it may do. */
export const tokenQuery = queryOptions({
  queryKey: ['token'],
  queryFn: ({ signal }) => posthorn.token({ signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

export type Scope = Token['scopes'][number];

export type Permission = ReturnType<typeof permissionOf>;

/** The scopes that `send` needs. */
export const sendScopes: Scope[] = ['webhooks:write', 'webhooks:read', 'events:read'];

export function permissionOf(scopes: readonly Scope[]) {
  const has = (scope: Scope) => scopes.includes(scope);
  return {
    readEvents: has('events:read'),
    readWebhooks: has('webhooks:read'),
    readAudit: has('audit:read'),
    /** May delete a webhook and rotate its secret. */
    write: has('webhooks:write') && has('webhooks:read'),
    /** May cause events to be sent: create, change, verify, test, redeliver, replay. */
    send: sendScopes.every(has),
  };
}

/** The token of this tab. Only for components below the frame, which waits for it. */
export function useToken(): Token {
  const { data } = useQuery(tokenQuery);
  if (!data) throw new Error('The token is not known yet.');
  return data;
}

export function usePermission(): Permission {
  return permissionOf(useToken().scopes);
}
