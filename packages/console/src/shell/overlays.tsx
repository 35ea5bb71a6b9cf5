import type { Token } from '@posthorn/client';
import { CatchBoundary, useLocation } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { isMissingPart } from '../missing-part';
import { useStore } from '../store';
import { showToast } from '../toast';
import { overlay, typedEarly } from './overlay-store';
import { useShortcuts } from './shortcuts';

/** A lazy component that failed to load never loads again, so the next try needs new components. */
const lazyOverlays = () => ({
  Palette: lazy(() => import('./palette').then(({ Palette }) => ({ default: Palette }))),
  MoreViews: lazy(() => import('./more-views').then(({ MoreViews }) => ({ default: MoreViews }))),
  ShortcutHelp: lazy(() => import('./shortcut-help').then(({ ShortcutHelp }) => ({ default: ShortcutHelp }))),
});

/**
 * What opens above a view: the palette, the other views and the list of shortcuts. If one of them cannot be loaded, it
 * closes, and the view below stays as it is, with what was typed into it.
 */
export function Overlays({ token }: { token: Token }) {
  useShortcuts(token);
  const open = useStore(overlay);
  const [{ Palette, MoreViews, ShortcutHelp }, setOverlays] = useState(lazyOverlays);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path is another view, which has nothing above it yet
  useEffect(() => () => overlay.set(undefined), [path]);
  useEffect(() => {
    if (open !== 'palette') typedEarly.set('');
  }, [open]);
  return (
    <CatchBoundary
      getResetKey={() => open}
      errorComponent={NotLoaded}
      onCatch={() => {
        overlay.set(undefined);
        setOverlays(lazyOverlays);
        showToast('This part of the console could not be loaded. Try again, or reload the page.');
      }}
    >
      <Suspense>
        {open === 'palette' && <Palette token={token} />}
        {open === 'more' && <MoreViews token={token} />}
        {open === 'help' && <ShortcutHelp token={token} />}
      </Suspense>
    </CatchBoundary>
  );
}

/** Shows nothing if a part is missing. Any other error is for the view. */
function NotLoaded({ error }: { error: unknown }) {
  if (!isMissingPart(error)) throw error;
  return null;
}
