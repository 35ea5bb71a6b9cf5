import { useId, useState } from 'react';
import { Chip } from '../lists/filters';
import { Remark } from '../parts/form';
import { IconButton } from '../parts/icon';
import { t } from '../text/language';
import type { Field } from './fields';
import {
  boundsOf,
  type Condition,
  type Operator,
  operators,
  pathOf,
  type Scalar,
  scalarOf,
  shown,
  type Test,
  takesValues,
} from './filter-rules';

const newTest = (operator: Operator): Test => ({ operator, values: [] });

/** One field and what it must be: a choice of tests, each with its values. */
export function ConditionRow({
  condition,
  fields,
  fieldList,
  fault,
  hint,
  onChange,
  onRemove,
}: {
  condition: Condition;
  fields: ReadonlyMap<string, Field>;
  /** The ID of the list with the names of the fields. */
  fieldList: string;
  fault: string | undefined;
  hint: string | undefined;
  onChange: (condition: Condition) => void;
  onRemove: () => void;
}) {
  const { path, tests } = condition;
  const name = path.join('.');
  const [typed, setTyped] = useState(name);
  const field = fields.get(name);
  const change = (index: number, test: Test) => onChange({ ...condition, tests: tests.with(index, test) });
  return (
    <li className="condition">
      <div className="condition-head">
        <input
          className="input mono"
          aria-label={t`Field`}
          placeholder={t`Field, such as payload.currency`}
          list={fieldList}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          aria-invalid={fault !== undefined}
          onChange={(event) => {
            setTyped(event.target.value);
            // What is chosen from the list is complete. What is typed is used when the field is left.
            if (fields.has(event.target.value)) onChange({ ...condition, path: pathOf(event.target.value) });
          }}
          onBlur={() => {
            const entered = pathOf(typed);
            setTyped(entered.join('.'));
            if (entered.join('.') !== name) onChange({ ...condition, path: entered });
          }}
        />
        <IconButton label={t`Remove the condition on ${name}`} onClick={onRemove} />
      </div>
      {tests.map((test, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: alternatives have no other identity
        <div className="alternative" key={index}>
          {index > 0 && <span className="joint">{t`or`}</span>}
          <TestFields test={test} of={name} field={field} onChange={(changed) => change(index, changed)} />
          {tests.length > 1 && (
            <IconButton
              label={t`Remove alternative ${index + 1} of ${name}`}
              size={12}
              onClick={() => onChange({ ...condition, tests: tests.toSpliced(index, 1) })}
            />
          )}
        </div>
      ))}
      <div className="condition-foot">
        <Remark fault={fault} hint={hint} />
        <span className="grow" />
        <button
          type="button"
          className="link small"
          onClick={() => onChange({ ...condition, tests: [...tests, newTest(nextOperator(tests, field))] })}
        >{t`Add an alternative`}</button>
      </div>
    </li>
  );
}

/** An alternative is something else than what is there already. */
function nextOperator(tests: readonly Test[], field: Field | undefined): Operator {
  const free = offered(field).filter((one) => tests.every(({ operator }) => operator !== one));
  return free.find((one) => one === 'missing') ?? free[0] ?? 'is';
}

/** The tests that a field can have. */
function offered(field: Field | undefined): Operator[] {
  const { kinds } = field ?? {};
  return (Object.keys(operators) as Operator[]).filter((operator) => {
    const { only, isRare } = operators[operator] as { only?: 'string' | 'number'; isRare?: boolean };
    return !isRare && (!only || !kinds || kinds.size === 0 || kinds.has(only));
  });
}

function TestFields({
  test,
  of,
  field,
  onChange,
}: {
  test: Test;
  /** The name of the field. */
  of: string;
  field: Field | undefined;
  onChange: (test: Test) => void;
}) {
  const { operator, values } = test;
  const choices = offered(field);
  const bounds = boundsOf(operator);
  return (
    <>
      <select
        className="filter-select"
        aria-label={t`Operator for ${of}`}
        value={operator}
        onChange={(event) => {
          const next = event.target.value as Operator;
          const isAlike = takesValues(next) ? takesValues(operator) : bounds.length > 0;
          const kept = next === 'prefix' ? values.filter((value) => typeof value === 'string') : values;
          onChange({ operator: next, values: isAlike ? kept : [] });
        }}
      >
        {(choices.includes(operator) ? choices : [...choices, operator]).map((one) => (
          <option key={one} value={one}>
            {operators[one].name}
          </option>
        ))}
      </select>
      {bounds.map((bound, index) => (
        <input
          key={bound}
          className="input number"
          type="number"
          step="any"
          aria-label={index === 0 ? t`Number for ${of}` : t`Second number for ${of}`}
          value={String(values[index] ?? '')}
          onChange={({ target: { value } }) =>
            onChange({
              operator,
              values: bounds.map((_, at) => (at === index ? numberIn(value) : (values[at] ?? ''))),
            })
          }
        />
      ))}
      {takesValues(operator) && (
        <Values
          of={of}
          values={values}
          field={operator === 'prefix' ? undefined : field}
          isText={operator === 'prefix'}
          onChange={(changed) => onChange({ operator, values: changed })}
        />
      )}
    </>
  );
}

const numberIn = (text: string): Scalar => (text === '' ? '' : Number(text));

/** Values as chips, with a field that adds one. If all possible values are known, they are there to be pressed. */
function Values({
  of,
  values,
  field,
  isText,
  onChange,
}: {
  of: string;
  values: Scalar[];
  field: Field | undefined;
  isText: boolean;
  onChange: (values: Scalar[]) => void;
}) {
  const [typed, setTyped] = useState('');
  const listId = useId();
  if (field?.isClosed && values.every((value) => field.values.has(value))) {
    return (
      // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line
      <span className="chips" role="group" aria-label={t`Values for ${of}`}>
        {[...field.values].map((value) => (
          <button
            key={shown(value)}
            type="button"
            className="pill mono"
            aria-pressed={values.includes(value)}
            onClick={() =>
              onChange(values.includes(value) ? values.filter((one) => one !== value) : [...values, value])
            }
          >
            {shown(value)}
          </button>
        ))}
      </span>
    );
  }
  const value = isText ? typed : scalarOf(typed, field?.kinds ?? new Set());
  const add = () => {
    if (typed === '' || value === undefined) return;
    setTyped('');
    if (!values.includes(value)) onChange([...values, value]);
  };
  return (
    <span className="chips">
      {values.map((one) => (
        <Chip
          key={shown(one)}
          name=""
          value={shown(one)}
          onRemove={() => onChange(values.filter((other) => other !== one))}
        />
      ))}
      <input
        className="input value"
        aria-label={t`Value for ${of}`}
        placeholder={values.length === 0 ? t`Value, then Enter` : t`or…`}
        list={listId}
        autoComplete="off"
        value={typed}
        aria-invalid={value === undefined}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={add}
        onKeyDown={(event) => {
          if (event.key === 'Enter') add();
          if (event.key === 'Backspace' && typed === '') onChange(values.slice(0, -1));
        }}
      />
      {value === undefined && (
        <Remark fault={t`This field is a ${[...(field?.kinds ?? [])].join(` ${t`or`} `)}.`} />
      )}
      <datalist id={listId}>
        {[...(field?.values ?? [])].map((one) => (
          <option key={shown(one)} value={shown(one)} />
        ))}
      </datalist>
    </span>
  );
}
