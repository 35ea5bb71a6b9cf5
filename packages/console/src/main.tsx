import './styles/tokens.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/controls.css';
import './styles/content.css';
import './styles/forms.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { connection } from './connection';
import { startFirstRequests } from './first-requests';
import { nameMissingParts } from './missing-part';
import { followPreferences } from './preferences';
import { queryClient } from './query-client';
import { router } from './router';
import { restoreSession, session, tokenOf } from './session';

// An address that was copied out of a sentence ends with its full stop. No view does.
const path = location.pathname.replace(/[.,;:!?)\]>"']+$/, '');
if (path !== location.pathname)
  history.replaceState(history.state, '', path + location.search + location.hash);

restoreSession();
followPreferences();
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
