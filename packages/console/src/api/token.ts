import { queryOptions } from '@tanstack/react-query';
import { posthorn } from './client';

/** Who the tab's token is, and what it may do. */
export const tokenQuery = queryOptions({
  queryKey: ['token'],
  queryFn: ({ signal }) => posthorn.token({ signal }),
  staleTime: Number.POSITIVE_INFINITY,
});
