import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query';
import { get, pathWith } from './request';
import type { AuditEntry, Page } from './types';

export interface AuditFilter {
  workspace_id?: string | undefined;
  actor_id?: string | undefined;
  action?: string | undefined;
  target_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export const auditPagesQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam, signal }) =>
      get<Page<AuditEntry>>(pathWith('/v1/audit-logs', { ...filter, limit: 50, cursor: pageParam }), signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => (meta.has_more ? (meta.cursor ?? undefined) : undefined),
    placeholderData: keepPreviousData,
  });
