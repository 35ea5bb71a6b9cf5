import type { Token } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useLayoutEffect } from 'react';
import { connection } from '../api/connection';
import { isUnreachable } from '../api/problem';
import { productName, useSettings } from '../api/settings';
import { embedding } from '../browser/embedding';
import { useStore } from '../browser/store';
import { ProblemNote, Skeleton } from '../parts/states';
import { ToastLine } from '../parts/toast';
import { markPortal, session } from '../session/session';
import { SignIn } from '../session/sign-in';
import { tokenQuery } from '../session/token';
import { useIsPast, useNow } from '../text/clock';
import { formatDuration } from '../text/format';
import { rich, t } from '../text/language';
import { BottomBar, SideBar } from './navigation';
import { Overlays } from './overlays';
import { TopBar } from './top-bar';
import { shownItem, titleOf } from './views';

/** Everything around a view. Without a token, it shows the sign-in at the same address. */
export function Frame() {
  const title = useBranding();
  const now = useStore(session);
  return (
    <>
      {/* With another token, everything is mounted again: what is mounted would keep showing the old token's data. */}
      {now.kind === 'open' ? <SignedIn key={now.token} /> : <SignIn />}
      <ToastLine />
      {/* Screen readers do not announce a new title by themselves if no page is loaded. */}
      <div className="hidden-visually" aria-live="polite">
        {title}
      </div>
    </>
  );
}

function SignedIn() {
  const { data: token, error, refetch } = useQuery(tokenQuery);
  useEffect(() => markPortal(token?.portal === true), [token]);
  useSessionEnd(token);
  return (
    <div className="frame">
      <a className="skip" href="#content">{t`Skip to content`}</a>
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
  const path = useLocation({ select: ({ pathname }) => pathname });
  const item = useStore(shownItem);
  const title = titleOf(path, productName(settings), item);
  useEffect(() => {
    document.title = title;
  }, [title]);
  useLayoutEffect(() => {
    const own = embedding.accent ? `#${embedding.accent}` : settings.accent;
    // Dark enough on a light ground, and light enough on a dark one.
    const accent = `light-dark(oklch(from ${own} min(l, 0.53) c h), oklch(from ${own} max(l, 0.66) c h))`;
    if (own) document.documentElement.style.setProperty('--accent', accent);
  }, [settings.accent]);
  return title;
}

const checkMs = 30_000;

/**
 * Ends the session when the token expires, even if the page is not used. The clock of the browser may be wrong, so the
 * service is asked for the token first. If the token has expired, the response ends the session, as every 401 does. If
 * not, the service is asked again later.
 */
function useSessionEnd(token: Token | undefined): void {
  const isOver = useIsPast(token ? Date.parse(token.expires_at) : Number.POSITIVE_INFINITY);
  useQuery({
    ...tokenQuery,
    queryKey: [...tokenQuery.queryKey, 'end'],
    enabled: isOver,
    refetchInterval: checkMs,
  });
}

/** Says that the service is unreachable, or that the console is waiting because of the rate limit. */
function Banner() {
  const state = useStore(connection);
  const now = useNow();
  if (state.kind === 'up') return null;
  return (
    <div className="banner" role="status">
      {state.kind === 'unreachable' ? (
        <span>
          {rich`${<b>{t`The service is unreachable.`}</b>} The console will reconnect automatically. Until then, this page is not updated.`}
        </span>
      ) : (
        <span>
          {rich`${<b>{t`Too many requests.`}</b>} The console resumes in ${formatDuration(Math.max(1_000, state.until - now))}.`}
        </span>
      )}
    </div>
  );
}
