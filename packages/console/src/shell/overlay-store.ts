import { createStore } from '../browser/store';

export type OverlayName = 'palette' | 'help' | 'more';

/** The overlay that is open. */
export const overlay = createStore<OverlayName | undefined>(undefined);

/** What is typed into the palette. It can be typed before the palette is there. */
export const paletteText = createStore('');
