import { tokenQuery } from './api/token';
import { webhooksQuery } from './api/webhooks';
import { loadChart } from './parts/chart';
import { permissionOf } from './permission';
import { queryClient } from './query-client';
import { parseSearch } from './search';
import { overviewQueries } from './views/overview/queries';

/**
 * Before the first render, requests what every view needs: the token, then the webhooks, whose problems the
 * navigation and the overview show first. If the overview is open, also requests its figures and the code of
 * its chart. Failures are ignored here: the view requests the data again and shows the error.
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
