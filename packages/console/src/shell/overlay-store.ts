import { createStore } from '../store';

/** What lies above the page. */
export const overlay = createStore<'palette' | 'help' | 'more' | undefined>(undefined);
