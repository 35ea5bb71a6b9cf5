import type { ApiDocument } from './api-document.js';
import { anchor, codeBlock, type Html, html, inline, jsonMarkup, paragraphs } from './markup.js';
import { fieldTable } from './reference-fields.js';

/** Every code an error can have, with its status, what happened, and what to do. */
export type ProblemTable = Readonly<Record<string, { status: number; title: string; advice?: string }>>;

export function problemAnchor(code: string): string {
  return `problem-${anchor(code)}`;
}

export function problemSection(document: ApiDocument, problems: ProblemTable): Html {
  const rows = Object.entries(problems).map(
    ([code, { status, title, advice }]) => html`
<tr id="${problemAnchor(code)}"><th scope="row"><a href="#${problemAnchor(code)}"><code>${code}</code></a></th>
<td><span class="status">${status}</span></td><td><p>${title}.</p><p class="advice">${inline(advice)}</p></td></tr>`,
  );
  const schema = document.components?.schemas?.Problem;
  return html`<section id="errors">
<h2><a href="#errors">Errors</a></h2>
<div class="columns"><div class="text">
${paragraphs(
  'Every error is `application/problem+json` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)). Decide by ' +
    '`code`, which never changes its meaning; `detail` is for people. Its `type` leads back to the table below, which ' +
    'has the codes of this listener. Guide: `docs/errors.md` in the repository.',
)}
${
  schema &&
  html`<details class="more"><summary>Fields of an error</summary>${fieldTable(document, schema, 'response')}</details>`
}
</div><div class="samples">${codeBlock('An error', jsonMarkup(exampleProblem(document, problems)))}</div></div>
<table class="codes" id="problem-codes"><thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">What it means and what to do</th></tr></thead>
<tbody>${rows}</tbody></table>
</section>`;
}

/** One that the listener of the page can answer. */
function exampleProblem({ paths = {} }: ApiDocument, problems: ProblemTable) {
  const ofQuery = {
    code: 'invalid_parameter',
    place: "'limit'",
    instance: '/v1/events',
    fault: { parameter: 'limit', code: 'too_large', detail: 'must be at most 100' },
  };
  const ofBody = {
    code: 'invalid_body',
    place: '/severity',
    instance: '/platform/incidents',
    fault: { pointer: '/severity', code: 'pattern_mismatch', detail: 'must be one of p0 to p9' },
  };
  const { code, place, instance, fault } = ofBody.instance in paths ? ofBody : ofQuery;
  return {
    type: `/docs#${problemAnchor(code)}`,
    title: problems[code]?.title,
    status: problems[code]?.status,
    detail: `${place}: ${fault.detail}.`,
    ...{ instance, code, request_id: '0b0f1c86-7f3f-4b43-9b39-3f1f6e2f6c55', errors: [fault] },
  };
}
