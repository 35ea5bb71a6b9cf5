import type { ApiDocument } from './api-document.js';
import { anchor, codeBlock, type Html, html, inline, jsonMarkup, paragraphs } from './markup.js';
import { fieldTable } from './reference-fields.js';

/** Every code an error can have, with its status and title. */
export type ProblemTable = Readonly<Record<string, { status: number; title: string }>>;

export function problemAnchor(code: string): string {
  return `problem-${anchor(code)}`;
}

export function problemSection(document: ApiDocument, problems: ProblemTable): Html {
  const rows = Object.entries(problems).map(
    ([code, { status, title }]) => html`
<tr id="${problemAnchor(code)}"><th scope="row"><a href="#${problemAnchor(code)}"><code>${code}</code></a></th>
<td><span class="status">${status}</span></td><td>${title}.</td><td>${inline(whatToDo(status))}</td></tr>`,
  );
  const schema = document.components?.schemas?.Problem;
  return html`<section id="errors">
<h2><a href="#errors">Errors</a></h2>
<div class="columns"><div class="text">
${paragraphs(
  'Every error is `application/problem+json` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)). Decide by ' +
    '`code`, which never changes its meaning; `detail` is for people. Its `type` leads back to the table below.',
)}
${
  schema &&
  html`<details class="more"><summary>Fields of an error</summary>${fieldTable(document, schema, 'response')}</details>`
}
</div><div class="samples">${codeBlock('An error', jsonMarkup(exampleProblem(problems)))}</div></div>
<table class="codes" id="problem-codes"><thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">What happened</th><th scope="col">What to do</th></tr></thead>
<tbody>${rows}</tbody></table>
</section>`;
}

function exampleProblem(problems: ProblemTable) {
  const code = 'invalid_parameter' in problems ? 'invalid_parameter' : (Object.keys(problems)[0] ?? '');
  return {
    type: `/docs#${problemAnchor(code)}`,
    title: problems[code]?.title,
    status: problems[code]?.status,
    detail: "'limit': must be at most 100.",
    instance: '/v1/events',
    code,
    request_id: '0b0f1c86-7f3f-4b43-9b39-3f1f6e2f6c55',
    errors: [{ parameter: 'limit', code: 'too_large', detail: 'must be at most 100' }],
  };
}

/** The status alone tells a client how to go on. */
function whatToDo(status: number): string {
  if (status === 429 || status === 503) return 'Wait for `Retry-After`, then send it again.';
  if (status >= 500) return 'Send it again later; report the `request_id` if it stays.';
  if (status === 401) return 'Send a token that is valid now.';
  if (status === 403) return 'Use a token that may do this.';
  if (status === 404) return 'Check the path and the id; do not retry.';
  if (status === 405) return 'Use a method that `Allow` names.';
  if (status === 409) return 'Look at the present state first, then decide.';
  return 'Change the request; `detail` and `errors` say how.';
}
