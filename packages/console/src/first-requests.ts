import { tokenQuery } from './api/token';
import { webhooksQuery } from './api/webhooks';
import { permissionOf } from './permission';
import { queryClient } from './query-client';

/**
 * Asks for what every view needs before anything is drawn: who the token is, then the webhooks, whose problems the
 * navigation and the overview show first. A failure is shown by the view that asks again.
 */
export async function startFirstRequests(): Promise<void> {
  await queryClient.prefetchQuery(tokenQuery);
  const token = queryClient.getQueryData(tokenQuery.queryKey);
  if (token && permissionOf(token.scopes).readWebhooks) await queryClient.prefetchQuery(webhooksQuery);
}
