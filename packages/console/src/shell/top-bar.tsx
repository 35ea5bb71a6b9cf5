import type { Token } from '@posthorn/client';
import { useLive } from '../address/live';
import { switchZone, useZone } from '../browser/preferences';
import { Icon } from '../parts/icon';
import { overlay } from './overlay-store';
import { WorkspaceField } from './workspace-field';

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

export function TopBar({ token }: { token: Token | undefined }) {
  const { isLive, toggle } = useLive();
  const shownZone = useZone();
  return (
    <header className="top">
      <span className="organization cut">{token?.organization_id}</span>
      {token?.workspace_id && <span className="pill cut">{token.workspace_id}</span>}
      {token && !token.workspace_id && token.scopes.length > 0 && <WorkspaceField token={token} />}
      <span className="grow" />
      <button
        type="button"
        className="pill"
        aria-pressed={isLive}
        onClick={toggle}
        title="Refresh automatically (l)"
      >
        <span className="dot" />
        Live
      </button>
      <button
        type="button"
        className="pill wide"
        onClick={switchZone}
        title="Switch between local time and UTC (u)"
      >
        {shownZone === 'utc' ? 'UTC' : 'Local time'}
      </button>
      <button
        type="button"
        className="pill search"
        onClick={() => overlay.set('palette')}
        title="Go anywhere"
      >
        <kbd className="wide">{isMac ? '⌘K' : 'Ctrl K'}</kbd>
        <span>Search</span>
        <Icon name="search" size={14} />
      </button>
    </header>
  );
}
