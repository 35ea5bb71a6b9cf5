import { createStore, useStore } from '../browser/store';

/** A short confirmation of something that the user did. */
const toast = createStore<string | undefined>(undefined);

const shownMs = 3_500;
let timer: ReturnType<typeof setTimeout> | undefined;

export function showToast(text: string): void {
  clearTimeout(timer);
  toast.set(text);
  timer = setTimeout(() => toast.set(undefined), shownMs);
}

export function ToastLine() {
  const text = useStore(toast);
  return (
    <div role="status" aria-live="polite">
      {text && <div className="toast">{text}</div>}
    </div>
  );
}
