import { queryOptions } from '@tanstack/react-query';
import { posthorn } from './client';

/** The tab's token: its actor, and what it may do. */
export const tokenQuery = queryOptions({
  queryKey: ['token'],
  queryFn: ({ signal }) => posthorn.token({ signal }),
  staleTime: Number.POSITIVE_INFINITY,
});
