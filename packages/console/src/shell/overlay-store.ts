import { createStore } from '../store';

/** The overlay that is open. */
export const overlay = createStore<'palette' | 'help' | 'more' | undefined>(undefined);

/** What was typed into the palette while its code was being loaded. */
export const typedEarly = createStore('');
