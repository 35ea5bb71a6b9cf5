import type { Page } from '@posthorn/client';
import { keepPreviousData, QueryClient } from '@tanstack/react-query';
import { problemIn } from './problem';

/** How many times a request is retried, by its status. */
const retriesMax: Partial<Record<number, number>> = { 429: 5, 503: 2 };
const unavailableMsMax = 5_000;

/** How long a result is used without reading it again. */
export const staleMs = 2_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      refetchOnWindowFocus: false,
      staleTime: staleMs,
      // Retries only requests that exceeded the rate limit, or that the service refused although it is ready. If the
      // service is unreachable, `connection` polls until it responds.
      retry: (failures, error) => failures < (retriesMax[problemIn(error)?.status ?? 0] ?? 0),
      retryDelay: (_failures, error) => {
        const { status, retryAfterMs = 1_000 } = problemIn(error) ?? {};
        return status === 503 ? Math.min(retryAfterMs, unavailableMsMax) : retryAfterMs;
      },
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

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
