import { createStore } from './store';

/** A short confirmation of something that the user did. */
export const toast = createStore<string | undefined>(undefined);

const shownMs = 3_500;
let timer: ReturnType<typeof setTimeout> | undefined;

export function showToast(text: string): void {
  clearTimeout(timer);
  toast.set(text);
  timer = setTimeout(() => toast.set(undefined), shownMs);
}
