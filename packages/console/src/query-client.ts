import { QueryClient } from '@tanstack/react-query';
import { problemIn } from './api/problem';

const retriesMax = 5;

/** Until then, what was read is not read again. */
export const staleMs = 2_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      refetchOnWindowFocus: false,
      staleTime: staleMs,
      // Retries only requests that exceeded the rate limit. If the service is unreachable, `connection` polls
      // until it responds.
      retry: (failures, error) => problemIn(error)?.status === 429 && failures < retriesMax,
      retryDelay: (_failures, error) => problemIn(error)?.retryAfterMs ?? 1_000,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});
