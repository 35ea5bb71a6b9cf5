import type { Page } from '@posthorn/client';
import { keepPreviousData } from '@tanstack/react-query';

/** Turns a list of the API into the pages of an infinite query. */
export const pagesOf = <P extends Page<unknown>>(
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<P>,
) => ({
  queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
    load(pageParam, signal),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ cursor, hasMore }: P) => (hasMore ? (cursor ?? undefined) : undefined),
  placeholderData: keepPreviousData,
});
