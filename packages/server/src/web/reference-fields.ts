import type { ApiDocument, Parameter, Schema } from './api-document.js';
import { type Content, type Html, html, inline } from './markup.js';
import {
  type Field,
  fieldsOf,
  limits,
  parameterExample,
  resolved,
  shown,
  typeText,
} from './reference-schema.js';

interface Row {
  name: Content;
  type: string;
  label: string | false;
  schema: Schema;
  description: string | undefined;
  example: unknown;
}

export function parameterTable(
  document: ApiDocument,
  heading: string,
  parameters: readonly Parameter[],
  purpose: 'request' | 'response',
): Html {
  const rows = parameters.map((parameter): Row => {
    const schema = resolved(document, parameter.schema);
    return {
      name: html`<code>${parameter.name}</code>`,
      type: typeText(document, schema),
      label: labelOf(parameter.required === true, purpose),
      schema,
      description: parameter.description ?? schema.description,
      example: parameterExample(document, parameter),
    };
  });
  return table(document, heading, rows);
}

/** What a request must hold is marked; in what comes from the service, what may be missing is. */
function labelOf(required: boolean, purpose: 'request' | 'response'): string | false {
  return purpose === 'request' ? required && 'required' : !required && 'optional';
}

/** The fields of a body. */
export function fieldTable(
  document: ApiDocument,
  schema: Schema | undefined,
  purpose: 'request' | 'response',
): Html {
  const rows = fieldsOf(document, schema).map((field): Row => {
    return {
      name: fieldName(field),
      type: typeText(document, field.schema),
      label: labelOf(field.required, purpose),
      schema: field.schema,
      description: field.schema.description,
      example: purpose === 'request' ? (field.schema.example ?? field.schema.examples?.[0]) : undefined,
    };
  });
  return table(document, 'Field', rows);
}

function fieldName({ path }: Field): Html {
  const dot = path.lastIndexOf('.');
  return html`<code><span class="parent">${path.slice(0, dot + 1)}</span>${path.slice(dot + 1)}</code>`;
}

function table(document: ApiDocument, heading: string, rows: readonly Row[]): Html {
  if (rows.length === 0) return html``;
  return html`<table class="fields">
<thead><tr><th scope="col">${heading}</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows.map((row) => tableRow(document, row))}</tbody>
</table>`;
}

function tableRow(document: ApiDocument, row: Row): Html {
  const fallback = row.schema.default;
  const notes: Content[] = [
    fallback !== undefined && html`<span>Default <code>${shown(fallback)}</code></span>`,
    ...limits(document, row.schema).map((limit) => html`<span>${inline(sentence(limit))}</span>`),
    row.example !== undefined && html`<span>Example <code>${shown(row.example)}</code></span>`,
  ];
  const type = html`<span class="type">${row.type}</span>`;
  const label = row.label && html` <span class="${row.label}">${row.label}</span>`;
  return html`
<tr><th scope="row">${row.name} <span class="kind">${type}${label}</span></th>
<td>${row.description !== undefined && html`<p>${inline(row.description)}</p>`}<p class="notes">${notes}</p></td></tr>`;
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
