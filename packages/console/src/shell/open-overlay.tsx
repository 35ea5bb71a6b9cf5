import type { Token } from '@posthorn/client';
import { MoreViews } from './more-views';
import type { OverlayName } from './overlay-store';
import { Palette } from './palette';
import { ShortcutHelp } from './shortcut-help';

/** The overlay that is open. */
export function OpenOverlay({ name, token }: { name: OverlayName; token: Token }) {
  if (name === 'palette') return <Palette token={token} />;
  return name === 'more' ? <MoreViews token={token} /> : <ShortcutHelp token={token} />;
}
