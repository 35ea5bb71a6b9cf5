import type { Token } from '@posthorn/client';
import { Link, useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';
import { switchZone, useZone } from '../browser/preferences';
import { useStore } from '../browser/store';
import { Button } from '../parts/button';
import { Dialog } from '../parts/dialog';
import { Facts } from '../parts/facts';
import { IconButton } from '../parts/icon';
import { t } from '../text/language';
import { Palette } from './palette';
import { useShortcuts } from './shortcuts';
import { isMac } from './top-bar';
import { overlay, referencePath, tokenViewName, viewsOf } from './views';

const close = () => overlay.set(undefined);

/** What opens above a view: the palette, the other views and the list of shortcuts. */
export function Overlays({ token }: { token: Token }) {
  useShortcuts(token);
  const open = useStore(overlay);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path is another view, which has nothing above it yet
  useEffect(() => close, [path]);
  if (open === 'palette') return <Palette token={token} />;
  if (open === 'more') return <MoreViews token={token} />;
  return open && <ShortcutHelp token={token} />;
}

/** The views and settings that do not fit into the bottom bar on a phone. */
function MoreViews({ token }: { token: Token }) {
  const shownZone = useZone();
  return (
    <Dialog title={t`More`} className="more-views" onClose={close}>
      <IconButton label={t`Close`} onClick={close} />
      {viewsOf(token)
        .filter((view) => !view.icon)
        .map((view) => (
          <Link key={view.to} to={view.to} className="btn" onClick={close}>
            {view.name}
          </Link>
        ))}
      <Link to="/token" className="btn" onClick={close}>
        {tokenViewName(token)}
      </Link>
      {!token.portal && (
        <a
          href={referencePath}
          target="_blank"
          rel="noopener"
          className="btn"
          onClick={close}
        >{t`API reference`}</a>
      )}
      <Button
        onClick={() => {
          switchZone();
          close();
        }}
      >
        {shownZone === 'utc' ? t`Show local time` : t`Show UTC`}
      </Button>
    </Dialog>
  );
}

function ShortcutHelp({ token }: { token: Token }) {
  const shortcuts: [keys: string[], what: string][] = [
    [[isMac ? '⌘K' : 'Ctrl K'], t`Go anywhere: a view, a webhook, any ID`],
    [['/'], t`Filter the list`],
    [['j', 'k', 'Enter'], t`Next row, previous row, open`],
    [['r'], t`Redeliver`],
    [['l'], t`Live mode`],
    [['u'], t`Local time or UTC`],
    ...viewsOf(token).map(({ key, name }): [string[], string] => [['g', key], name]),
    [['?'], t`This list`],
  ];
  return (
    <Dialog title={t`Keyboard shortcuts`} className="help" onClose={close}>
      <Facts
        of={shortcuts.map(([keys, what]) => ({
          name: keys.map((key) => <kbd key={key}>{key}</kbd>),
          is: what,
        }))}
      />
      <div className="actions">
        <Button onClick={close}>{t`Close`}</Button>
      </div>
    </Dialog>
  );
}
