import { type ApiDocument, type Parameter, scopesOf, tokenVariable } from './api-document.js';
import { type Content, codeBlock, type Html, html, inline, jsonMarkup, paragraphs } from './markup.js';
import { type Endpoint, endpointAnchor, endpointsOf, endpointTitle } from './reference-endpoint.js';

export interface Guide {
  id: string;
  title: string;
  body: Html;
}

/** What holds for many operations at once. A guide is there only where the document has what it is about. */
export function guidesOf(document: ApiDocument): Guide[] {
  const endpoints = endpointsOf(document);
  const scoped = endpoints.filter(({ operation }) => scopesOf(operation).length > 0);
  const paged = endpoints.filter((endpoint) => hasParameter(endpoint, 'cursor'));
  return [
    authentication(document, scoped),
    conventions,
    ...(paged.length > 0 ? [paging(paged)] : []),
    ...(scoped.length > 0 ? [rateLimits] : []),
  ];
}

const hasParameter = ({ operation }: Endpoint, name: string) =>
  (operation.parameters ?? []).some((parameter: Parameter) => parameter.name === name);

function authentication(document: ApiDocument, scoped: readonly Endpoint[]): Guide {
  const schemes = Object.values(document.components?.securitySchemes ?? {});
  const scopes = [...new Set(scoped.flatMap(({ operation }) => scopesOf(operation)))].sort();
  const body = html`${paragraphs('Send the token with every request:')}
${codeBlock('Header', html`Authorization: Bearer <span data-fill="token">$${tokenVariable(document)}</span>`)}
${schemes.map(({ description }) => paragraphs(description))}
${
  scopes.length > 0 &&
  html`${paragraphs(
    'A token is for one organization, and may be for one workspace of it: it sees nothing else. It has scopes, ' +
      'and it expires. Without a usable token the answer is 401 [`unauthenticated`](#problem-unauthenticated); ' +
      'with one that lacks a scope, 403 [`insufficient_scope`](#problem-insufficient_scope).',
  )}
<table class="fields"><thead><tr><th scope="col">Scope</th><th scope="col">Opens</th></tr></thead><tbody>${scopes.map(
    (scope) =>
      html`<tr><th scope="row"><code>${scope}</code></th><td>${linksTo(
        scoped.filter(({ operation }) => scopesOf(operation).includes(scope)),
      )}</td></tr>`,
  )}</tbody></table>`
}`;
  return { id: 'authentication', title: 'Authentication', body };
}

function linksTo(endpoints: readonly Endpoint[]): Content {
  return endpoints.map(
    (endpoint, index) =>
      html`${index > 0 && ', '}<a href="#${endpointAnchor(endpoint)}">${endpointTitle(endpoint)}</a>`,
  );
}

const conventions: Guide = {
  id: 'conventions',
  title: 'Requests and answers',
  body: html`<ul>${[
    'Bodies are JSON in UTF-8, sent as `Content-Type: application/json`.',
    'Times are RFC 3339 in UTC with milliseconds: `2026-11-15T09:30:00.000Z`. Ids are opaque after their prefix.',
    'Nothing is ignored silently: an unknown or repeated query parameter is an error, and an error lists every ' +
      'fault of the request at once.',
    'Every answer has an `X-Request-Id`. Send your own (8 to 128 of `A-Z a-z 0-9 . _ -`) and it is kept; name it ' +
      'when you ask for help.',
    '`HEAD` works wherever `GET` does. Answers over 1 KiB are compressed when asked for.',
  ].map((rule) => html`<li>${inline(rule)}</li>`)}</ul>`,
};

function paging(paged: readonly Endpoint[]): Guide {
  const followed = paged.filter((endpoint) => hasParameter(endpoint, 'order'));
  const body = html`${paragraphs(
    'A list answers one page, and in `meta` how to go on. While `has_more` is true, repeat the request with ' +
      '`cursor` set to `meta.cursor` and the **same filters**; only `limit` may change in between.',
  )}
${codeBlock('End of a page', jsonMarkup({ data: ['…'], meta: { cursor: 'CROdgAR0s4wJAQGh…', has_more: true } }))}
${paragraphs(
  'A cursor is opaque and does not expire, and what is recorded meanwhile neither shifts nor repeats a page. With ' +
    'other filters it is refused: 400 [`invalid_cursor`](#problem-invalid_cursor).',
)}
${
  followed.length > 0 &&
  paragraphs(
    'To **follow** without missing anything, ask with `order=asc`, keep the last `meta.cursor`, and come back ' +
      'with it: you see everything exactly once, also what is committed late. There the cursor is always given, ' +
      'even by an empty page.',
  )
}
<p>Paged: ${linksTo(paged)}.</p>`;
  return { id: 'paging', title: 'Paging', body };
}

const rateLimits: Guide = {
  id: 'rate-limits',
  title: 'Rate limits',
  body: html`${paragraphs(
    'Each token may make so many reads (`GET`, `HEAD`) and so many writes a minute. Where the limits are on, every ' +
      'authenticated answer tells how many are left:',
  )}
${codeBlock('Headers', 'RateLimit-Policy: "reads";q=600;w=60\nRateLimit: "reads";r=598;t=42')}
<table class="fields"><thead><tr><th scope="col">Header</th><th scope="col">Meaning</th></tr></thead><tbody>${[
    ['RateLimit-Policy', 'The limit that counted this request: `q` requests in `w` seconds.'],
    ['RateLimit', '`r` requests are left; in `t` seconds there are `q` again.'],
    ['Retry-After', 'With 429 and 503: wait this many seconds, then send the request again.'],
  ].map(
    ([name, meaning]) => html`<tr><th scope="row"><code>${name}</code></th><td>${inline(meaning)}</td></tr>`,
  )}</tbody></table>
${paragraphs('One request too many is 429 [`rate_limited`](#problem-rate_limited). For a steady flow, have events sent to you rather than polling.')}`,
};
