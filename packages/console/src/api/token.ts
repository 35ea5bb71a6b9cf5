import { queryOptions } from '@tanstack/react-query';
import { get } from './request';
import type { TokenInfo } from './types';

/** Who the tab's token is, and what it may do. */
export const tokenQuery = queryOptions({
  queryKey: ['token'],
  queryFn: ({ signal }) => get<{ data: TokenInfo }>('/v1/token', signal).then(({ data }) => data),
  staleTime: Number.POSITIVE_INFINITY,
});
