import { lazy } from 'react';
import { t } from '../text/language';
import { EditorRow, type RowProps } from './editor-row';
import { type Format, formats } from './formats';

const BodyEditor = lazy(() => import('./body-editor').then((module) => ({ default: module.BodyEditor })));

/** The format of a webhook in words, with its editor. */
export function BodyRow(props: RowProps & { isNew: boolean }) {
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
