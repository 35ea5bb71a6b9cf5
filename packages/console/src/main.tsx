import './styles/index.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { parseSearch } from './address/search';
import { connection } from './api/connection';
import { queryClient } from './api/query-client';
import { overviewQueries } from './api/stats';
import { webhooksQuery } from './api/webhooks';
import { followEmbedding } from './browser/embedding';
import { followPreferences } from './browser/preferences';
import { router } from './router';
import { restoreSession, session, tokenOf } from './session/session';
import { permissionOf, tokenQuery } from './session/token';
import { nameMissingParts } from './shell/late-parts';

// An address that was copied out of a sentence ends with its full stop. No view does.
const path = location.pathname.replace(/[.,;:!?)\]>"']+$/, '');
if (path !== location.pathname)
  history.replaceState(history.state, '', path + location.search + location.hash);

restoreSession();
followPreferences();
followEmbedding();
nameMissingParts();

// A link with a token can be opened in a tab that already shows the console.
addEventListener('hashchange', restoreSession);

let lastToken = tokenOf(session.get());
session.subscribe(() => {
  const token = tokenOf(session.get());
  // Data that was loaded with one token must not be shown with another.
  if (token !== undefined && lastToken !== undefined && token !== lastToken) queryClient.clear();
  lastToken = token ?? lastToken;
});
connection.subscribe(() => {
  if (connection.get().kind === 'up') void queryClient.invalidateQueries();
});

if (session.get().kind === 'open') void startFirstRequests();

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);

/**
 * Before the first render, requests what every view needs: the token, then the webhooks, whose problems the
 * navigation and the overview show first. If the overview is open, also requests its figures. Failures are ignored here: the view requests the data again and shows the error.
 */
export async function startFirstRequests(): Promise<void> {
  const isOverview = /^\/console\/?$/.test(location.pathname);
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
