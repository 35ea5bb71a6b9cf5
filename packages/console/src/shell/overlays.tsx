import type { Token } from '@posthorn/client';
import { useLocation } from '@tanstack/react-router';
import { lazy, Suspense, useEffect } from 'react';
import { useStore } from '../store';
import { overlay, typedEarly } from './overlay-store';
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
  const path = useLocation({ select: ({ pathname }) => pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path is another view, which has nothing above it yet
  useEffect(() => () => overlay.set(undefined), [path]);
  useEffect(() => {
    if (open !== 'palette') typedEarly.set('');
  }, [open]);
  return (
    <Suspense>
      {open === 'palette' && <Palette token={token} />}
      {open === 'more' && <MoreViews token={token} />}
      {open === 'help' && <ShortcutHelp token={token} />}
    </Suspense>
  );
}
