import {
  type ApiDocument,
  isOpen,
  mainContent,
  type Operation,
  type Parameter,
  type Response,
  scopesOf,
} from './api-document.js';
import { type Content, codeBlock, type Html, html, inline, jsonMarkup, paragraphs } from './markup.js';
import { curl } from './reference-curl.js';
import { type Endpoint, endpointAnchor, endpointTitle, methodBadge } from './reference-endpoint.js';
import { fieldTable, parameterTable } from './reference-fields.js';
import { exampleOf, fieldsOf, parameterExample, resolved, shown, typeText } from './reference-schema.js';

export function endpointArticle(
  document: ApiDocument,
  endpoint: Endpoint,
  hrefOfCode: (code: string) => string | undefined,
  isFolded: boolean,
): Html {
  const { method, operation, path } = endpoint;
  const id = endpointAnchor(endpoint);
  const route = html`${methodBadge(method)} <code>${path}</code>${operation.deprecated && html` <span class="deprecated">deprecated</span>`}`;
  const body = endpointBody(document, endpoint, hrefOfCode);
  if (isFolded)
    return html`
<article class="operation folded" id="${id}"><details>
<summary class="folded-title"><h3>${endpointTitle(endpoint)}</h3> <span class="route">${route}</span></summary>
${body}
</details></article>`;
  return html`
<article class="operation" id="${id}">
<h3><a href="#${id}">${endpointTitle(endpoint)}</a></h3>
<p class="route">${route}</p>
${body}
</article>`;
}

function endpointBody(
  document: ApiDocument,
  endpoint: Endpoint,
  hrefOfCode: (code: string) => string | undefined,
): Html {
  const { operation } = endpoint;
  const responses = Object.entries(operation.responses ?? {});
  const successes = responses.filter(([status]) => isSuccess(status));
  const failures = responses.filter(([status]) => !isSuccess(status));
  return html`<div class="columns">
<div class="text">
${paragraphs(operation.description)}
<p class="needs">${needs(operation)}</p>
</div>
<div class="samples">
${codeBlock('Request', curl(document, endpoint))}
${tryForm(document, endpoint)}
${successes.map(([status, response]) => answerSample(document, status, response))}
</div>
<div class="text">
${parameterSections(document, operation.parameters ?? [], 'request')}
${operation.requestBody && bodySection(document, operation.requestBody)}
${successes.map(([status, response]) => answerSection(document, status, response))}
${failures.length > 0 && failureSection(failures, hrefOfCode)}
</div>
</div>`;
}

const isSuccess = (status: string) => /^[123]/.test(status);

function needs(operation: Operation): Html {
  if (isOpen(operation)) return html`Needs no token.`;
  const scopes = scopesOf(operation).map((scope) => html`<code>${scope}</code>`);
  if (scopes.length === 0) return html`Needs the <a href="#authentication">token</a>.`;
  const listed = scopes.map((scope, index) => html`${index > 0 && ' and '}${scope}`);
  return html`Needs a <a href="#authentication">token</a> with ${listed}.`;
}

const places = {
  path: ['Path', 'Parameter'],
  query: ['Query', 'Parameter'],
  header: ['Headers', 'Header'],
} as const;

export function parameterSections(
  document: ApiDocument,
  parameters: readonly Parameter[],
  purpose: 'request' | 'response',
): Content {
  return Object.entries(places).map(([place, [title, column]]) => {
    const some = parameters.filter((parameter) => parameter.in === place);
    return some.length > 0 && html`<h4>${title}</h4>${parameterTable(document, column, some, purpose)}`;
  });
}

function bodySection(document: ApiDocument, body: NonNullable<Operation['requestBody']>): Html {
  const content = body.content ?? {};
  const [media] = Object.values(content);
  const types = Object.keys(content).map((type, index) => html`${index > 0 && ' or '}<code>${type}</code>`);
  const whole = media?.schema && typeText(document, media.schema);
  return html`<h4>Body</h4>
<p>${types}${whole !== undefined && whole !== 'object' && html`: ${whole}`}</p>
${paragraphs(body.description)}${media && fieldTable(document, media.schema, 'request')}`;
}

function answerSection(document: ApiDocument, status: string, response: Response): Html {
  const [type, media] = mainContent(response.content);
  const count = fieldsOf(document, media?.schema).length;
  const heading = html`<span class="status ok">${status}</span> ${inline(response.description)}`;
  const headers = Object.entries(response.headers ?? {}).map(
    ([name, header]): Parameter => ({ ...header, name, in: 'header' }),
  );
  return html`<h4 class="answer">${heading}</h4>
${headers.length > 0 && parameterTable(document, 'Header', headers, 'request')}
${
  count > 0 &&
  html`<details class="more"><summary>${count} ${count === 1 ? 'field' : 'fields'} <span class="type">${type}</span></summary>
${fieldTable(document, media?.schema, 'response')}</details>`
}`;
}

function failureSection(
  failures: readonly (readonly [string, Response])[],
  hrefOfCode: (code: string) => string | undefined,
): Html {
  const statuses = failures.map(([status]) => status).join(', ');
  return html`<h4 class="answer">Errors</h4><details class="more"><summary>${statuses}</summary><table class="failures"><tbody>${failures.map(
    ([status, response]) =>
      html`<tr><th scope="row"><span class="status">${status}</span></th><td>${codesApart(response.description).map((text) => html`<p>${inline(text, hrefOfCode)}</p>`)}</td></tr>`,
  )}</tbody></table></details>`;
}

/** One line for each code of a status, where the description tells of several. */
function codesApart(description = ''): string[] {
  return description.split(/(?<=\.) (?=`\w+`: )/);
}

function answerSample(document: ApiDocument, status: string, response: Response): Content {
  const [type, media] = mainContent(response.content);
  if (!media || !type.includes('json')) return undefined;
  return codeBlock(html`Answer ${status}`, jsonMarkup(exampleOf(document, media)));
}

/** Only reading can be tried: a page of documentation should not be where something gets deleted. */
function tryForm(document: ApiDocument, endpoint: Endpoint): Content {
  const { method, operation, path } = endpoint;
  const [type] = mainContent(operation.responses?.['200']?.content);
  if (method !== 'GET' || type === 'text/event-stream') return undefined;
  const inputs = (operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
    .map((parameter) => tryInput(document, parameter));
  const needsToken = !isOpen(operation) && html` data-needs-token`;
  return html`<details class="try" hidden><summary>Try it</summary>
<form data-path="${path}"${needsToken} autocomplete="off">${inputs}<button>Send</button></form>
<p role="status"></p><div class="result"></div></details>`;
}

function tryInput(document: ApiDocument, parameter: Parameter): Html {
  const { name, required } = parameter;
  const example = parameterExample(document, parameter);
  const { default: fallback, enum: values } = resolved(document, parameter.schema);
  const value = shown(example ?? fallback ?? '');
  const common = html`name="${name}" data-in="${parameter.in}"${required && html` required`}`;
  const control = values
    ? html`<select ${common}><option value="">${fallback !== undefined && `(${shown(fallback)})`}</option>${values.map((one) => html`<option>${shown(one)}</option>`)}</select>`
    : html`<input ${common} ${required ? html`value="${value}"` : html`placeholder="${value}"`}>`;
  return html`<label><span>${name}</span>${control}</label>`;
}
