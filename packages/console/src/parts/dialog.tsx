import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { createPortal } from 'react-dom';

interface DialogProps {
  /** What is shown as its heading, or with `isUntitled` only said. */
  title: string;
  isUntitled?: boolean;
  /** An alert is closed only by its buttons and by Escape. */
  isAlert?: boolean;
  className?: string;
  onClose: () => void;
  children: ReactNode;
}

/** A dialog above the page. The browser keeps the focus inside, and gives it back. */
export function Dialog({
  title,
  isUntitled = false,
  isAlert = false,
  className = '',
  onClose,
  children,
}: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const opened = dialog.current;
    opened?.showModal();
    return () => opened?.close();
  }, []);
  return createPortal(
    <dialog
      ref={dialog}
      className={`dialog ${className}`}
      role={isAlert ? 'alertdialog' : 'dialog'}
      {...(isUntitled ? { 'aria-label': title } : { 'aria-labelledby': titleId })}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        // Another one may be open below.
        event.stopPropagation();
        onClose();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        // The backdrop belongs to the dialog, but is outside its box.
        if (isAlert || event.target !== event.currentTarget) return;
        const { left, right, top, bottom } = event.currentTarget.getBoundingClientRect();
        const { clientX: x, clientY: y } = event;
        if (x < left || x > right || y < top || y > bottom) onClose();
      }}
    >
      {!isUntitled && <h2 id={titleId}>{title}</h2>}
      {children}
    </dialog>,
    document.body,
  );
}
