import { useRouter, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useId, useRef } from 'react';
import { useSetSearch } from '../../address/search';
import { Button } from '../../parts/button';
import type { WebhookDraft } from '../webhook-form/webhook-fields';
import { conditionsOf, phraseOf } from './filter-rules';

const FilterEditor = lazy(() =>
  import('./filter-editor').then((module) => ({ default: module.FilterEditor })),
);

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

/** The filter of a webhook in words, with its editor. */
export function FilterRow({
  draft,
  fault,
  onChange,
}: {
  draft: WebhookDraft;
  fault: string | undefined;
  onChange: (filter: string) => void;
}) {
  const editor = useEditor('filter');
  const id = useId();
  return (
    <div className="field">
      <span className="label" id={id}>
        Filter
      </span>
      <div className="choice">
        <FilterWords text={draft.filter} />
        <Button kind="slim" onClick={editor.open} aria-describedby={id} aria-invalid={fault !== undefined}>
          {draft.filter === '' ? 'Add a filter…' : 'Edit the filter…'}
        </Button>
      </div>
      {fault && (
        <span className="fault" role="alert">
          {fault}
        </span>
      )}
      {editor.isOpen && (
        <Suspense>
          <FilterEditor
            text={draft.filter}
            types={draft.event_types}
            workspaceId={draft.workspace_id.trim()}
            onChange={onChange}
            onClose={editor.close}
          />
        </Suspense>
      )}
    </div>
  );
}

/** A filter as one sentence for each condition. */
export function FilterWords({ text }: { text: string }) {
  if (text === '') return <span className="soft">None: every event of these types</span>;
  const conditions = conditionsOf(text);
  if (!conditions) return <code className="cut">{text}</code>;
  return (
    <ul className="filter-words">
      {conditions.map(({ key, path, tests }) => (
        <li key={key}>
          <code>{path.join('.')}</code> {tests.map(phraseOf).join(', or ')}
        </li>
      ))}
    </ul>
  );
}
