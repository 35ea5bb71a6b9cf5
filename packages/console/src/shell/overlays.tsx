import type { Token } from '@posthorn/client';
import { lazy, Suspense } from 'react';
import { useStore } from '../store';
import { overlay } from './overlay-store';
import { useShortcuts } from './shortcuts';

const Palette = lazy(() => import('./palette').then(({ Palette }) => ({ default: Palette })));
const MoreViews = lazy(() => import('./more-views').then(({ MoreViews }) => ({ default: MoreViews })));
const ShortcutHelp = lazy(() =>
  import('./shortcut-help').then(({ ShortcutHelp }) => ({ default: ShortcutHelp })),
);

/** What opens above a view: the palette, and the list of shortcuts. */
export function Overlays({ token }: { token: Token }) {
  useShortcuts(token);
  const open = useStore(overlay);
  return (
    <Suspense>
      {open === 'palette' && <Palette token={token} />}
      {open === 'more' && <MoreViews token={token} />}
      {open === 'help' && <ShortcutHelp token={token} />}
    </Suspense>
  );
}
