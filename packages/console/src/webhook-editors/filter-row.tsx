import { lazy } from 'react';
import { t } from '../text/language';
import { EditorRow, type RowProps } from './editor-row';
import { conditionsOf, phraseOf } from './filter-rules';

const FilterEditor = lazy(() =>
  import('./filter-editor').then((module) => ({ default: module.FilterEditor })),
);

/** The filter of a webhook in words, with its editor. */
export function FilterRow({ draft, fault, onChange }: RowProps) {
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
