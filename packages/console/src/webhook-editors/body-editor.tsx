import { useRef, useState } from 'react';
import { faultOf, isUnreachable } from '../api/problem';
import { useZone } from '../browser/preferences';
import { JsonBlock } from '../code/json-text';
import { Button, Segmented } from '../parts/button';
import { Dialog } from '../parts/dialog';
import { ProblemNote, Skeleton } from '../parts/states';
import { useNow } from '../text/clock';
import { formatClock } from '../text/format';
import { t } from '../text/language';
import type { EditorProps } from '../webhook-form/webhook-fields';
import { EventTree } from './event-tree';
import { type Filter, parsed } from './filter-rules';
import { type Format, formats } from './formats';
import { JsonField } from './json-field';
import { usePreview, useSubscription } from './preview';
import { canName, insertion, startNames, startOf } from './template-text';

/** Edits what the body of a request looks like. Beside it, the body for a recent event, as the service makes it. */
export function BodyEditor({ draft, isNew, onChange, onClose }: EditorProps & { isNew: boolean }) {
  const { format, template } = draft;
  const isTemplate = format === 'template';
  const shownZone = useZone();
  const now = useNow(60_000);
  const [chosen, setChosen] = useState<string>();
  const area = useRef<HTMLTextAreaElement>(null);
  const { subscription, sample } = useSubscription(draft);
  const value = parsed(template);
  const isReadable = !isTemplate || (typeof value === 'object' && value !== null);
  const [readable, setReadable] = useState(template);
  if (isTemplate && (isReadable || template === '') && readable !== template) setReadable(template);
  const used = isTemplate ? parsed(readable) : null;
  const preview = usePreview({
    ...subscription,
    filter: (parsed(draft.filter) ?? null) as Filter | null,
    // Of a rare type, there may be no event in the last day.
    from: '2000-01-01',
    ...(used !== undefined && { format, template: used as object as Record<string, unknown> }),
  });
  const events = preview.data?.events ?? [];
  const event = events.find(({ id }) => id === chosen) ?? events[0];
  const { body, ...fields } = event ?? { body: undefined, ...sample };
  const start = startNames.find((name) => startOf(name, fields) === template);
  const isRefused = faultOf(preview.problem, 'template') !== undefined;
  const isFaulty = !isReadable || (!preview.isOld && isRefused);
  const error = isRefused ? null : preview.error;

  /** Changes the text like a user, so that the browser can undo it. */
  function replace(start: number, end: number, text: string): void {
    area.current?.focus();
    area.current?.setSelectionRange(start, end);
    document.execCommand(text === '' ? 'delete' : 'insertText', false, text);
  }

  return (
    <Dialog title={t`Body`} className="editor" onClose={onClose}>
      <div className={isTemplate ? 'editor-columns template' : 'editor-columns whole'}>
        <div className="stack">
          <Segmented
            label={t`Format`}
            choices={Object.entries(formats).map(([key, { name }]) => ({ key: key as Format, label: name }))}
            value={format}
            onChange={(next) => onChange({ format: next })}
          />
          <p className="soft">{formats[format].what}</p>
          {isTemplate && (
            <>
              <div className="line">
                {template.trim() === '' || start ? (
                  <>
                    <span className="soft">{t`Start with what these expect:`}</span>
                    <Segmented
                      label={t`Start with what these expect:`}
                      choices={startNames.map((name) => ({ key: name, label: name }))}
                      value={start}
                      onChange={(name) => replace(0, template.length, startOf(name, fields))}
                    />
                  </>
                ) : (
                  <Button kind="slim" onClick={() => replace(0, template.length, '')}>
                    {t`Start again`}
                  </Button>
                )}
              </div>
              <JsonField
                ref={area}
                label={t`Template as JSON`}
                field="template"
                text={template}
                problem={preview.isOld ? undefined : preview.problem}
                onChange={(text) => onChange({ template: text })}
              />
              {isNew && (
                <p className="hint">
                  {t`The verification request is an envelope, which a chat refuses. For Slack, create the webhook with the format “Chat text”, and choose the template once it is active.`}
                </p>
              )}
            </>
          )}
        </div>
        <section className="stack preview" aria-label={t`Preview`} aria-busy={preview.isOld}>
          {error && !isUnreachable(error) ? (
            <ProblemNote error={error} />
          ) : !preview.data ? (
            <Skeleton lines={8} />
          ) : (
            <>
              {event ? (
                <label className="line">
                  <span className="soft">{t`For the event`}</span>
                  <select
                    className="filter-select event-choice"
                    value={event.id}
                    onChange={({ target }) => setChosen(target.value)}
                  >
                    {events.map(({ id, type, subject, created_at }) => (
                      <option key={id} value={id}>
                        {type}, {subject.id}, {formatClock(Date.parse(created_at), shownZone, now)}
                      </option>
                    ))}
                  </select>
                </label>
              ) : (
                <p className="soft">{t`There is no event that this webhook would get, so there is no body yet.`}</p>
              )}
              {isTemplate && (
                <section className="box">
                  <header>
                    <h3>{event ? t`Fields` : t`Fields of a sample`}</h3>
                    <span className="grow r">{t`Click a value to insert it`}</span>
                  </header>
                  <EventTree
                    event={fields}
                    label={t`Insert`}
                    canPick={canName}
                    onPick={(path) => {
                      const { selectionStart = 0, selectionEnd = 0 } = area.current ?? {};
                      const { start, end, text } = insertion(template, [selectionStart, selectionEnd], path);
                      replace(start, end, text);
                    }}
                  />
                </section>
              )}
              {isFaulty && template.trim() !== '' && (
                <p className="soft">{t`Correct the template to see the body.`}</p>
              )}
              {body !== undefined && !isFaulty && (
                <div className={preview.isOld ? 'dimmed' : undefined}>
                  <JsonBlock title={t`Body as it arrives`} text={body} what={t`the body`} />
                </div>
              )}
            </>
          )}
        </section>
      </div>
      <div className="actions">
        <Button kind="primary" onClick={onClose}>
          {t`Done`}
        </Button>
      </div>
    </Dialog>
  );
}
