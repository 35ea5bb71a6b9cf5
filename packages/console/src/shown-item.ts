import { useEffect } from 'react';
import { createStore } from './store';

/** The name of the one item that the open view shows, such as a webhook. The title of the tab begins with it. */
export const shownItem = createStore<string | undefined>(undefined);

export function useShownItem(name: string | undefined): void {
  useEffect(() => {
    shownItem.set(name);
    return () => shownItem.set(undefined);
  }, [name]);
}
