import { createStore } from '../browser/store';

/** The overlay that is open. */
export const overlay = createStore<'palette' | 'help' | 'more' | undefined>(undefined);
