import type { ListAuditLogsQuery } from '@posthorn/client';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { posthorn } from './client';
import { pagesOf } from './query-client';

export type AuditFilter = Pick<
  ListAuditLogsQuery,
  'workspace_id' | 'actor_id' | 'action' | 'target_id' | 'from' | 'to'
>;

export const auditPagesQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', filter],
    ...pagesOf((cursor, signal) =>
      posthorn.auditLogs.list({ ...filter, limit: 50, cursor }, { signal }).first(),
    ),
  });

/** Whether the newest entries are unaltered. */
export const auditChainQuery = queryOptions({
  queryKey: ['audit-chain'],
  queryFn: ({ signal }) => posthorn.auditLogs.chain({ signal }),
  staleTime: 30_000,
});
