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
      {text && (
        // A dialog is in the browser's top layer, and so is a message about what it did.
        <div className="toast" popover="manual" key={text} ref={(message) => message?.showPopover()}>
          {text}
        </div>
      )}
    </div>
  );
}
