import { tokenQuery } from './api/token';
import { webhooksQuery } from './api/webhooks';
import { loadChart } from './parts/chart';
import { permissionOf } from './permission';
import { queryClient } from './query-client';
import { parseSearch } from './search';
import { overviewQueries } from './views/overview/queries';

/**
 * Asks for what every view needs before anything is drawn: who the token is, then the webhooks, whose problems the
 * navigation and the overview show first. If the address is the overview, asks for its figures and the code of its chart
 * too. A failure is shown by the view that asks again.
 */
export async function startFirstRequests(): Promise<void> {
  const isOverview = /^\/console\/?$/.test(location.pathname);
  if (isOverview) void loadChart();
  await queryClient.prefetchQuery(tokenQuery);
  const token = queryClient.getQueryData(tokenQuery.queryKey);
  if (!token || !permissionOf(token.scopes).readWebhooks) return;
  void queryClient.prefetchQuery(webhooksQuery);
  if (!isOverview) return;
  const { workspace_id, ...search } = parseSearch(location.search);
  const { stats, waiting } = overviewQueries(search, workspace_id);
  void queryClient.prefetchQuery(stats);
  void queryClient.prefetchQuery(waiting);
}
