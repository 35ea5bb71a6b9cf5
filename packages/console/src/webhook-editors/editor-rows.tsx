import { useRouter, useSearch } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useId, useRef } from 'react';
import { useSetSearch } from '../address/search';
import { Button } from '../parts/button';
import { Remark } from '../parts/form';
import { t } from '../text/language';
import type { FieldProps } from '../webhook-form/webhook-fields';
import { conditionsOf, phraseOf } from './filter-rules';
import { type Format, formats } from './formats';

/**
 * A field of a webhook in words, with a button that opens its editor. That is open as long as the URL says so, so that
 * the way back closes it.
 */
function EditorRow({
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
  const id = useId();
  const isOpen = useSearch({ strict: false, select: ({ edit }) => edit === name });
  const { history } = useRouter();
  const set = useSetSearch();
  const replace = useSetSearch({ replace: true });
  const isOpenedHere = useRef(false);
  const open = () => {
    isOpenedHere.current = true;
    set({ edit: name });
  };
  const close = () => {
    if (isOpenedHere.current) history.back();
    else replace({ edit: undefined });
    isOpenedHere.current = false;
  };
  return (
    <div className="field">
      <span className="label" id={id}>
        {label}
      </span>
      <div className="choice">
        {words}
        <Button kind="slim" onClick={open} aria-describedby={id} aria-invalid={fault !== undefined}>
          {action}
        </Button>
      </div>
      <Remark fault={fault} />
      {isOpen && <Suspense>{children(close)}</Suspense>}
    </div>
  );
}

const FilterEditor = lazy(() =>
  import('./filter-editor').then((module) => ({ default: module.FilterEditor })),
);

/** The filter of a webhook in words, with its editor. */
export function FilterRow({ draft, fault, onChange }: FieldProps) {
  return (
    <EditorRow
      name="filter"
      label={t`Filter`}
      words={<FilterWords text={draft.filter} />}
      action={draft.filter === '' ? t`Add a filter…` : t`Edit the filter…`}
      fault={fault}
    >
      {(close) => <FilterEditor draft={draft} onChange={onChange} onClose={close} />}
    </EditorRow>
  );
}

/** A filter as one sentence for each condition. */
export function FilterWords({ text }: { text: string }) {
  if (text === '') return <span className="soft">{t`None: every event of these types`}</span>;
  const conditions = conditionsOf(text);
  if (!conditions) return <code className="cut">{text}</code>;
  return (
    <ul className="filter-words">
      {conditions.map(({ key, path, tests }) => (
        <li key={key}>
          <code>{path.join('.')}</code> {tests.map(phraseOf).join(`, ${t`or`} `)}
        </li>
      ))}
    </ul>
  );
}

const BodyEditor = lazy(() => import('./body-editor').then((module) => ({ default: module.BodyEditor })));

/** The format of a webhook in words, with its editor. */
export function BodyRow(props: FieldProps & { isNew: boolean }) {
  const { draft } = props;
  return (
    <EditorRow
      name="body"
      label={t`Body`}
      words={<BodyWords format={draft.format} template={draft.template} />}
      action={t`Edit the body…`}
      fault={props.fault}
    >
      {(close) => <BodyEditor {...props} onClose={close} />}
    </EditorRow>
  );
}

/** A format in words, and a template as it is. */
export function BodyWords({ format, template }: { format: Format; template: string }) {
  const { name, what } = formats[format];
  return (
    <span className="body-words">
      {name}{' '}
      {format === 'template' ? (
        <code className="soft">{template.replaceAll(/\s+/g, ' ')}</code>
      ) : (
        <span className="hint">{what}</span>
      )}
    </span>
  );
}
