import type { GetStatsQuery } from '@posthorn/client';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { posthorn } from './client';

/** Figures over a time range. The cost does not depend on the number of events or deliveries. */
export const statsQuery = (key: string, query: () => GetStatsQuery) =>
  queryOptions({
    queryKey: ['stats', key],
    queryFn: ({ signal }) => posthorn.stats(query(), { signal }),
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });

/** The last day of one webhook, hour by hour. */
export const webhookDayQuery = (webhookId: string) =>
  queryOptions({
    queryKey: ['stats', 'webhook-day', webhookId],
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - 24 * 3_600_000).toISOString();
      return posthorn.stats({ webhook_id: webhookId, from, interval: 'hour' }, { signal });
    },
    staleTime: 60_000,
  });
