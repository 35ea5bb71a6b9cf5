import type { PosthornError } from '@posthorn/client';
import { useId, useState } from 'react';
import { faultOf } from '../api/problem';
import { escapedName } from '../code/json';
import { Button, Segmented } from '../parts/button';
import { Dialog } from '../parts/dialog';
import { formatCount } from '../text/format';
import { t } from '../text/language';
import type { EditorProps } from '../webhook-form/webhook-fields';
import { ConditionRow } from './condition-row';
import { EventTree } from './event-tree';
import { fieldsOf } from './fields';
import {
  type Condition,
  clashOf,
  conditionsOf,
  type Filter,
  filterTextOf,
  isComplete,
  newCondition,
  parsed,
  pathToValue,
  type Scalar,
  withValue,
} from './filter-rules';
import { faultsIn, JsonFaults, JsonField } from './json-field';
import { usePreview, useSubscription } from './preview';
import { PreviewResults } from './preview-results';

/** Edits the filter of a webhook as JSON text; an empty text is no filter. Beside it, what it would have let through. */
export function FilterEditor({ draft, onChange, onClose }: EditorProps) {
  const text = draft.filter;
  const [conditions, setConditions] = useState(() => conditionsOf(text));
  const listId = useId();
  const { subscription, chosen, sample } = useSubscription(draft);
  const all = usePreview(subscription);
  const filter = text.trim() === '' ? null : (parsed(text) as Filter | undefined);
  const sent = usePreview({ ...subscription, filter: filter ?? null });
  const events = all.data?.events ?? [];
  const fields = fieldsOf(chosen, [...(sent.data?.events ?? []), ...events]);

  function change(next: Condition[]): void {
    setConditions(next);
    onChange({ filter: filterTextOf(next) });
  }

  return (
    <Dialog title={t`Filter`} className="editor" onClose={onClose}>
      <div className="line">
        <p className="soft">{t`Of the events of the chosen types, the webhook gets those that match all conditions.`}</p>
        <span className="grow" />
        <Segmented
          label={t`How to edit the filter`}
          choices={[
            { key: 'conditions', label: t`Conditions` },
            { key: 'json', label: 'JSON' },
          ]}
          value={conditions ? 'conditions' : 'json'}
          onChange={(view) => setConditions(view === 'json' ? undefined : conditionsOf(text))}
        />
      </div>
      <div className="editor-columns">
        <div className="stack">
          {conditions ? (
            <>
              {conditions.length === 0 && (
                <p className="soft empty-filter">{t`No conditions yet, so every event is sent. Click a value of an event, or add a condition.`}</p>
              )}
              {conditions.length > 0 && (
                <ul className="conditions">
                  {conditions.map((condition) => (
                    <ConditionRow
                      key={condition.key}
                      condition={condition}
                      fields={fields}
                      fieldList={listId}
                      {...remarksOn(condition, conditions, sent.problem)}
                      onChange={(changed) =>
                        change(conditions.map((one) => (one === condition ? changed : one)))
                      }
                      onRemove={() => change(conditions.filter((one) => one !== condition))}
                    />
                  ))}
                </ul>
              )}
              <div className="actions">
                <Button
                  kind="slim"
                  onClick={() =>
                    setConditions([...conditions, newCondition([], [{ operator: 'is', values: [] }])])
                  }
                >{t`Add a condition`}</Button>
                {conditions.length > 0 && (
                  <Button kind="slim" onClick={() => change([])}>{t`Remove all`}</Button>
                )}
              </div>
              <datalist id={listId}>
                {[...fields.keys()].map((name) => (
                  <option key={name} value={name} />
                ))}
              </datalist>
            </>
          ) : (
            <JsonField
              label={t`Filter as JSON`}
              field="filter"
              text={text}
              problem={sent.problem}
              onChange={(filter) => onChange({ filter })}
            />
          )}
          {conditions && !isAtRow(sent.problem, conditions) && (
            <JsonFaults faults={faultsIn(sent.problem, 'filter')} />
          )}
        </div>
        <PreviewResults
          all={all}
          sent={sent}
          isFiltered={filter !== null}
          isFaulty={filter === undefined || (!sent.isOld && sent.problem?.status === 422)}
        >
          {(event) => {
            const shown = event ?? sample;
            return (
              shown && (
                <section className="box">
                  <header>
                    <h3>{event ? shown.type : t`Sample of ${shown.type}`}</h3>
                    <span className="grow r">{conditions && t`Click a value to add it`}</span>
                  </header>
                  <EventTree
                    event={shown}
                    label={t`Add a condition on`}
                    canPick={(path, value) =>
                      conditions !== undefined && typeof value !== 'object' && pathToValue(path) !== undefined
                    }
                    onPick={(path, value) =>
                      change(withValue(conditions ?? [], pathToValue(path) ?? [], value as Scalar))
                    }
                  />
                </section>
              )
            );
          }}
        </PreviewResults>
      </div>
      <div className="actions">
        {all.data && sent.data && (
          <span className="editor-count grow soft" aria-hidden="true">
            {t`${formatCount(sent.data.matched)} of ${formatCount(all.data.matched)} in 24 h`}
          </span>
        )}
        <Button kind="primary" onClick={onClose}>{t`Done`}</Button>
      </div>
    </Dialog>
  );
}

/** What is wrong with a condition, or what it still needs. */
function remarksOn(
  condition: Condition,
  all: readonly Condition[],
  problem: PosthornError | undefined,
): { fault: string | undefined; hint: string | undefined } {
  const clash = clashOf(condition, all);
  const fault = clash
    ? t`There is a condition on ${clash.path.join('.')} already. Give that one an alternative instead.`
    : faultOf(problem, `filter/${condition.path.map(escapedName).join('/')}`);
  return { fault, hint: isComplete(condition) ? undefined : t`Not used yet: it needs a field and a value.` };
}

function isAtRow(problem: PosthornError | undefined, all: readonly Condition[]): boolean {
  return all.some(
    ({ path }) => path.length > 0 && faultOf(problem, `filter/${path.map(escapedName).join('/')}`),
  );
}
