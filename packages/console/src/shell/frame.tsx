import { CSPProvider } from '@base-ui/react/csp-provider';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useLayoutEffect } from 'react';
import { accentFor } from '../accent';
import { isUnreachable } from '../api/problem';
import { tokenQuery } from '../api/token';
import { ProblemNote } from '../parts/problem-note';
import { Skeleton } from '../parts/skeleton';
import { shownTheme } from '../preferences';
import { markPortal, session } from '../session';
import { useSessionEnd } from '../session-end';
import { productName, useSettings } from '../settings';
import { shownItem } from '../shown-item';
import { useStore } from '../store';
import { Banner } from './banner';
import { BottomBar } from './bottom-bar';
import { Overlays } from './overlays';
import { SideBar } from './side-bar';
import { SignIn } from './sign-in';
import { ToastLine } from './toast-line';
import { TopBar } from './top-bar';
import { titleOf } from './views';

/** Everything around a view. Without a token, it shows the sign-in at the same address. */
export function Frame() {
  const title = useBranding();
  const now = useStore(session);
  return (
    <CSPProvider disableStyleElements>
      {/* With another token, everything is mounted again: what is mounted would keep showing the old token's data. */}
      {now.kind === 'open' ? <SignedIn key={now.token} /> : <SignIn />}
      <ToastLine />
      {/* Screen readers do not announce a new title by themselves if no page is loaded. */}
      <div className="hidden-visually" aria-live="polite">
        {title}
      </div>
    </CSPProvider>
  );
}

function SignedIn() {
  const { data: token, error, refetch } = useQuery(tokenQuery);
  useEffect(() => markPortal(token?.portal === true), [token]);
  useSessionEnd(token);
  return (
    <div className="frame">
      <a className="skip" href="#content">
        Skip to content
      </a>
      <SideBar token={token} />
      <div>
        <TopBar token={token} />
        <Banner />
        <main id="content" tabIndex={-1}>
          {token ? (
            <Outlet />
          ) : error && !isUnreachable(error) ? (
            <ProblemNote error={error} onRetry={() => void refetch()} />
          ) : (
            <Skeleton lines={8} />
          )}
        </main>
      </div>
      {token && <BottomBar token={token} />}
      {token && <Overlays token={token} />}
    </div>
  );
}

/** Shows the operator's name and accent, and names the view in the tab's title. Returns that title. */
function useBranding(): string {
  const settings = useSettings();
  const shown = useStore(shownTheme);
  const path = useLocation({ select: ({ pathname }) => pathname });
  const item = useStore(shownItem);
  const title = titleOf(path, productName(settings), item);
  useEffect(() => {
    document.title = title;
  }, [title]);
  useLayoutEffect(() => {
    if (!settings.accent) return;
    const { accent, background } = accentFor(settings.accent, shown);
    document.documentElement.style.setProperty('--accent', accent);
    document.documentElement.style.setProperty('--accent-bg', background);
    document.documentElement.style.setProperty('--bar-plain', accent);
  }, [settings.accent, shown]);
  return title;
}
