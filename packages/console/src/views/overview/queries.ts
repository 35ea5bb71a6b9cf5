import { deliveryPageQuery } from '../../api/deliveries';
import { statsQuery } from '../../api/stats';
import { type RangeSearch, rangeOf } from '../../range';

const countedMax = 100;

/** What the overview asks for, so that the page can ask before it is drawn. */
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
