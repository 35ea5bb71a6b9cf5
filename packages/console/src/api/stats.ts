import type { GetStatsQuery } from '@posthorn/client';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { type RangeSearch, rangeOf } from '../address/range';
import { posthorn } from './client';
import { deliveryPageQuery } from './deliveries';

/** Figures over the time range in a URL. The cost does not depend on the number of events or deliveries. */
export const rangeStatsQuery = (
  search: RangeSearch,
  of: Pick<GetStatsQuery, 'webhook_id' | 'workspace_id'>,
) =>
  queryOptions({
    queryKey: ['stats', search.range, search.from, search.to, of],
    queryFn: ({ signal }) => {
      const { fromMs, toMs, interval } = rangeOf(search, Date.now());
      const until = toMs === undefined ? undefined : new Date(toMs).toISOString();
      return posthorn.stats({ ...of, from: new Date(fromMs).toISOString(), to: until, interval }, { signal });
    },
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

const countedMax = 100;

/** The queries of the overview, which are also sent before the first render. */
export const overviewQueries = (search: RangeSearch, workspaceId: string | undefined) => ({
  stats: rangeStatsQuery(search, { workspace_id: workspaceId }),
  /** At most one page: enough to say "100+" without counting. */
  waiting: deliveryPageQuery({ state: 'retrying', workspace_id: workspaceId }, countedMax),
});
