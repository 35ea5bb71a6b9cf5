import { useEffect } from 'react';
import { createStore } from './store';

/** The name of the one thing that the open view shows, such as a webhook. The title of the tab begins with it. */
export const subject = createStore<string | undefined>(undefined);

export function useSubject(name: string | undefined): void {
  useEffect(() => {
    subject.set(name);
    return () => subject.set(undefined);
  }, [name]);
}
