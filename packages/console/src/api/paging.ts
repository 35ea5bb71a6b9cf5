import type { List, Page } from '@posthorn/client';
import { keepPreviousData } from '@tanstack/react-query';

/** Turns a list of the API into the pages of an infinite query. */
export const pagesOf = <T>(list: (cursor: string | undefined, signal: AbortSignal) => List<T>) => ({
  queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
    list(pageParam, signal).first(),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ cursor, hasMore }: Page<T>) => (hasMore ? (cursor ?? undefined) : undefined),
  placeholderData: keepPreviousData,
});
