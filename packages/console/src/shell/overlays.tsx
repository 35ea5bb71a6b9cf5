import type { Token } from '@posthorn/client';
import { CatchBoundary, useLocation } from '@tanstack/react-router';
import { type ComponentType, lazy, Suspense, useEffect, useState } from 'react';
import { useStore } from '../browser/store';
import { showToast } from '../parts/toast';
import { t } from '../text/language';
import { isMissingPart, whenIdle } from './late-parts';
import { type OverlayName, overlay, paletteText } from './overlay-store';
import { useShortcuts } from './shortcuts';

type Overlay = ComponentType<{ name: OverlayName; token: Token }>;

const loadOverlay = () => import('./open-overlay').then(({ OpenOverlay }) => OpenOverlay);

/** A lazy component that failed to load never loads again, so the next try needs a new one. */
const lazyOverlay = (): { Overlay: Overlay } => ({
  Overlay: lazy(() => loadOverlay().then((component) => ({ default: component }))),
});

/**
 * What opens above a view: the palette, the other views and the list of shortcuts. If it cannot be loaded, it
 * closes, and the view below stays as it is, with what was typed into it.
 */
export function Overlays({ token }: { token: Token }) {
  useShortcuts(token);
  const open = useStore(overlay);
  const [{ Overlay }, setOverlay] = useState(lazyOverlay);
  const path = useLocation({ select: ({ pathname }) => pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path is another view, which has nothing above it yet
  useEffect(() => () => overlay.set(undefined), [path]);
  useEffect(() => {
    if (open !== 'palette') paletteText.set('');
  }, [open]);
  // React shows what it had to wait for after 300 ms at the earliest. What is loaded before opens at once.
  useEffect(
    () =>
      whenIdle(() => {
        loadOverlay().then(
          (Loaded) => {
            // Replacing an open overlay would close it and open it again.
            if (!overlay.get()) setOverlay({ Overlay: Loaded });
          },
          () => undefined,
        );
      }),
    [],
  );
  return (
    <CatchBoundary
      getResetKey={() => open}
      errorComponent={NotLoaded}
      onCatch={() => {
        overlay.set(undefined);
        setOverlay(lazyOverlay);
        showToast(t`This part of the console could not be loaded. Try again, or reload the page.`);
      }}
    >
      <Suspense>{open && <Overlay name={open} token={token} />}</Suspense>
    </CatchBoundary>
  );
}

/** Shows nothing if a part is missing. Any other error is for the view. */
function NotLoaded({ error }: { error: unknown }) {
  if (!isMissingPart(error)) throw error;
  return null;
}
