import type { Token } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { useLive } from '../address/live';
import { switchZone, theme, themes, useZone } from '../browser/preferences';
import { useStore } from '../browser/store';
import { Button, Segmented } from '../parts/button';
import { Icon } from '../parts/icon';
import { leave } from '../session/session';
import { shortId } from '../text/identifier';
import { rich, t } from '../text/language';
import { TimeAgo } from '../text/time';
import { Brand } from './navigation';
import { overlay, tokenViewName } from './views';
import { WorkspaceField } from './workspace-field';

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

export function TopBar({ token }: { token: Token | undefined }) {
  const { isLive, toggle } = useLive();
  const shownZone = useZone();
  return (
    <header className="top">
      <Brand />
      <span className="organization cut" title={token?.organization_id}>
        {token?.organization_name ?? token?.organization_id}
      </span>
      {token?.workspace_id && <span className="pill cut">{token.workspace_id}</span>}
      {token && !token.workspace_id && token.scopes.length > 0 && <WorkspaceField token={token} />}
      <span className="grow" />
      {!isLive && <Updated />}
      <button
        type="button"
        className="pill"
        aria-pressed={isLive}
        onClick={toggle}
        title={t`Refresh automatically (l)`}
      >
        <span className="dot" />
        {t`Live`}
      </button>
      <button
        type="button"
        className="pill wide"
        onClick={switchZone}
        title={t`Switch between local time and UTC (u)`}
      >
        {shownZone === 'utc' ? t`UTC` : t`Local time`}
      </button>
      <button
        type="button"
        className="pill search"
        onClick={() => overlay.set('palette')}
        title={t`Go anywhere`}
      >
        <kbd className="wide">{isMac ? '⌘K' : 'Ctrl K'}</kbd>
        <span>{t`Search`}</span>
        <Icon name="search" size={14} />
      </button>
      {token && <Account token={token} />}
    </header>
  );
}

/** How old what the view shows is. A click reads it again. */
function Updated() {
  const client = useQueryClient();
  const cache = client.getQueryCache();
  const readMs = useSyncExternalStore(
    (listener) => cache.subscribe(listener),
    () =>
      Math.max(
        0,
        ...cache
          .findAll({
            type: 'active',
            predicate: ({ observers }) =>
              observers.some(({ options }) => options.staleTime !== Number.POSITIVE_INFINITY),
          })
          .map(({ state }) => state.dataUpdatedAt),
      ),
  );
  if (readMs === 0) return null;
  return (
    <button
      type="button"
      className="pill updated wide"
      title={t`Read again`}
      onClick={() => void client.invalidateQueries({ refetchType: 'active' })}
    >
      {rich`Updated ${<TimeAgo at={new Date(readMs).toISOString()} />}`}
    </button>
  );
}

/** Who is signed in, how they like the console, and the way out. */
function Account({ token }: { token: Token }) {
  const client = useQueryClient();
  const chosen = useStore(theme);
  return (
    <>
      <button type="button" className="pill" popoverTarget="account" aria-label={t`Account`}>
        <Icon name="account" />
      </button>
      <div className="menu" id="account" popover="auto">
        <div>
          <b title={token.actor.id}>{shortId(token.actor.id)}</b>
          {token.organization_name && <div className="small cut">{token.organization_name}</div>}
          <div className="soft small cut">{token.organization_id}</div>
        </div>
        <Segmented label={t`Color scheme`} choices={themes} value={chosen} onChange={theme.set} />
        <Link to="/token" className="btn slim" onClick={closeMenu}>
          {tokenViewName(token)}
        </Link>
        {!token.portal && <Button kind="slim" onClick={() => leave(client)}>{t`Sign out`}</Button>}
      </div>
    </>
  );
}

const closeMenu = () => document.getElementById('account')?.hidePopover();
