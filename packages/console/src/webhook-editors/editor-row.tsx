import { useRouter, useSearch } from '@tanstack/react-router';
import { type ReactNode, Suspense, useId, useRef } from 'react';
import { useSetSearch } from '../address/search';
import { Button } from '../parts/button';
import { Remark } from '../parts/form';
import type { WebhookDraft } from '../webhook-form/webhook-fields';

/** An editor that is open as long as the URL says so, so that the way back closes it. */
function useEditor(name: string) {
  const isOpen = useSearch({ strict: false, select: ({ edit }) => edit === name });
  const { history } = useRouter();
  const set = useSetSearch();
  const replace = useSetSearch({ replace: true });
  const isOpenedHere = useRef(false);
  return {
    isOpen,
    open: () => {
      isOpenedHere.current = true;
      set({ edit: name });
    },
    close: () => {
      if (isOpenedHere.current) history.back();
      else replace({ edit: undefined });
      isOpenedHere.current = false;
    },
  };
}

/** What a row is about, and changes. */
export interface RowProps {
  draft: WebhookDraft;
  fault: string | undefined;
  onChange: (part: Partial<WebhookDraft>) => void;
}

/** A field of a webhook in words, with a button that opens its editor. */
export function EditorRow({
  name,
  label,
  words,
  action,
  fault,
  children,
}: {
  /** What the URL calls the editor while it is open. */
  name: string;
  label: string;
  words: ReactNode;
  action: string;
  fault: string | undefined;
  children: (close: () => void) => ReactNode;
}) {
  const editor = useEditor(name);
  const id = useId();
  return (
    <div className="field">
      <span className="label" id={id}>
        {label}
      </span>
      <div className="choice">
        {words}
        <Button kind="slim" onClick={editor.open} aria-describedby={id} aria-invalid={fault !== undefined}>
          {action}
        </Button>
      </div>
      <Remark fault={fault} />
      {editor.isOpen && <Suspense>{children(editor.close)}</Suspense>}
    </div>
  );
}
