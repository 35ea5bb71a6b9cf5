import type { EventType } from '@posthorn/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useId, useState } from 'react';
import type { Search } from '../address/search';
import { useAction } from '../api/action';
import { posthorn } from '../api/client';
import { eventTypesQuery } from '../api/events';
import { webhookNames } from '../api/webhook-name';
import { webhooksQuery } from '../api/webhooks';
import { JsonBlock } from '../code/json-text';
import { FilterInput } from '../lists/filters';
import { type Column, Table } from '../lists/table';
import { Button } from '../parts/button';
import { Form } from '../parts/form';
import { Loaded, ProblemNote } from '../parts/states';
import { usePermission } from '../session/token';
import { rich, t } from '../text/language';
import { TypeName, WithCode } from '../text/type-name';
import { TestResult } from '../webhooks/test-view';

export function EventTypes() {
  const types = useQuery(eventTypesQuery);
  return (
    <>
      <h1>{t`Event types`}</h1>
      <Loaded query={types} lines={12}>
        {(all) => <Catalogue types={all} />}
      </Loaded>
    </>
  );
}

function Catalogue({ types }: { types: EventType[] }) {
  const { q = '', type } = useSearch({ from: '/event-types' });
  const found = types.filter((one) =>
    `${one.type} ${one.description}`.toLowerCase().includes(q.toLowerCase()),
  );
  const domains = Map.groupBy(found, (one) => one.type.slice(0, one.type.indexOf('.')));
  const shown = types.find((one) => one.type === type);
  return (
    <>
      <div className="filters">
        <FilterInput label={t`Filter event types`} placeholder={t`Filter by name or description`} />
      </div>
      <div className={shown ? 'tree with-one' : 'tree'}>
        <nav aria-label={t`Event types`}>
          {[...domains].map(([domain, of]) => (
            <div key={domain}>
              <h2>{domain}</h2>
              {of.map((one) => (
                <Link
                  key={one.type}
                  to="/event-types"
                  search={(now: Search) => ({ ...now, type: one.type })}
                  activeOptions={{ exact: true }}
                  aria-current={one.type === type ? 'page' : undefined}
                  className="mono"
                  resetScroll={false}
                >
                  <TypeName type={one.type} />
                </Link>
              ))}
            </div>
          ))}
          {found.length === 0 && <p className="soft">{t`No matching event types.`}</p>}
        </nav>
        {shown ? (
          <TypeDetail type={shown} />
        ) : (
          <p className={type ? 'soft' : 'soft wide'}>
            {type && <>{rich`There is no event type ${<code>{type}</code>}.`} </>}
            {t`Choose a type to see its description, its fields and a sample.`}
          </p>
        )}
      </div>
    </>
  );
}

function TypeDetail({ type }: { type: EventType }) {
  const may = usePermission();
  const text = JSON.stringify(type.sample);
  return (
    <article className="stack">
      <Link
        to="/event-types"
        search={(now: Search) => ({ ...now, type: undefined })}
        className="link back-to-types"
      >{t`All event types`}</Link>
      <div className="head">
        <h2 className="mono type-name">
          <TypeName type={type.type} />
        </h2>
        <span className="grow" />
        <Link to="/events" search={{ type: type.type }} className="btn slim">{t`See events`}</Link>
        {may.send && (
          <Link
            to="/webhooks/new"
            search={{ event_type: type.type }}
            className="btn slim"
          >{t`New webhook`}</Link>
        )}
      </div>
      <p>
        <WithCode text={type.description} />
      </p>
      <SchemaTable schema={type.schema} />
      <JsonBlock title={t`Sample payload`} text={text} what={t`the sample`} />
      {may.send && <SendAsTest key={type.type} type={type.type} />}
    </article>
  );
}

/** Sends the sample as a test event, without leaving the page. */
function SendAsTest({ type }: { type: string }) {
  const { data: webhooks } = useQuery(webhooksQuery);
  const [chosen, setChosen] = useState('');
  const field = useId();
  const test = useAction({ mutationFn: () => posthorn.webhooks.test(chosen, { event_type: type }) });
  if (!webhooks || webhooks.length === 0) return null;
  const names = webhookNames(webhooks);
  return (
    <section>
      <Form className="filters" onSubmit={() => test.mutate()}>
        <label className="soft" htmlFor={field}>{t`Send as a test to`}</label>
        <select
          id={field}
          className="filter-select"
          required
          value={chosen}
          onChange={(event) => {
            test.reset();
            setChosen(event.target.value);
          }}
        >
          <option value="">{t`choose a webhook…`}</option>
          {webhooks.map(({ id }) => (
            <option key={id} value={id}>
              {names.get(id)}
            </option>
          ))}
        </select>
        <Button type="submit" disabled={test.isPending || chosen === ''}>
          {test.isPending ? t`Sending…` : t`Send a test`}
        </Button>
      </Form>
      {test.error && <ProblemNote error={test.error} isAction />}
      {test.data && <TestResult result={test.data} />}
    </section>
  );
}

/** The parts of JSON Schema that the console reads. */
export interface JsonSchema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  enum?: unknown[];
  const?: unknown;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  format?: string;
}

function typeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(` ${t`or`} `);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === 'array' && schema.items) return t`array of ${typeOf(schema.items)}`;
  const type = Array.isArray(schema.type) ? schema.type.join(` ${t`or`} `) : (schema.type ?? 'any');
  return schema.format ? `${type} (${schema.format})` : type;
}

function noteOf(schema: JsonSchema): string {
  const values = schema.enum
    ? t`One of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}.`
    : '';
  return [schema.description, values].filter(Boolean).join(' ');
}

function rowsOf(
  schema: JsonSchema,
  prefix = '',
): { path: string; type: string; isRequired: boolean; note: string }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    return [{ path, type: typeOf(field), isRequired, note: noteOf(field) }, ...rowsOf(field, `${path}.`)];
  });
}

const schemaColumns: Column[] = [
  { name: t`Field`, width: '34%', onPhone: '38%' },
  { name: t`Type`, width: '24%', onPhone: '20%' },
  { name: t`Meaning` },
];

/** The fields of a payload, one per line. */
export function SchemaTable({ schema }: { schema: EventType['schema'] }) {
  const rows = rowsOf(schema as JsonSchema);
  if (rows.length === 0) return <p className="soft">{t`The payload has no fixed fields.`}</p>;
  return (
    <div className="schema">
      <Table columns={schemaColumns}>
        {rows.map((row) => (
          <tr key={row.path}>
            <td className="mono">
              {row.path}
              {!row.isRequired && <span className="soft"> {t`optional`}</span>}
            </td>
            <td className="soft">{row.type}</td>
            <td>
              <WithCode text={row.note} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}
