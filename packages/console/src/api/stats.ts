import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { get, pathWith } from './request';
import type { Interval, Stats } from './types';

export interface StatsQuery {
  webhook_id?: string | undefined;
  workspace_id?: string | undefined;
  from: string;
  to?: string | undefined;
  interval: Interval;
}

/** Figures over a time range. The cost does not depend on the number of events or deliveries. */
export const statsQuery = (key: string, query: () => StatsQuery) =>
  queryOptions({
    queryKey: ['stats', key],
    queryFn: async ({ signal }): Promise<Stats> => {
      const { data } = await get<{ data: Stats }>(pathWith('/v1/stats', { ...query() }), signal);
      return data;
    },
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });

/** The last day of one webhook, by the hour. */
export const webhookDayQuery = (webhookId: string) =>
  queryOptions({
    queryKey: ['stats', 'webhook-day', webhookId],
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - 24 * 3_600_000).toISOString();
      const path = pathWith('/v1/stats', { webhook_id: webhookId, from, interval: 'hour' });
      return get<{ data: Stats }>(path, signal).then(({ data }) => data);
    },
    staleTime: 60_000,
  });
