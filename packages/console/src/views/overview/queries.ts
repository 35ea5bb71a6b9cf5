import { type RangeSearch, rangeOf } from '../../address/range';
import { deliveryPageQuery } from '../../api/deliveries';
import { statsQuery } from '../../api/stats';

const countedMax = 100;

/** The queries of the overview, which are also sent before the first render. */
export const overviewQueries = (search: RangeSearch, workspaceId: string | undefined) => ({
  stats: statsQuery(JSON.stringify([search.range, search.from, search.to, workspaceId]), () => {
    const { fromMs, toMs, interval } = rangeOf(search, '24h', Date.now());
    return {
      from: new Date(fromMs).toISOString(),
      to: toMs === undefined ? undefined : new Date(toMs).toISOString(),
      interval,
      workspace_id: workspaceId,
    };
  }),
  /** At most one page: enough to say "100+" without counting. */
  waiting: deliveryPageQuery({ state: 'retrying', workspace_id: workspaceId }, countedMax),
});
