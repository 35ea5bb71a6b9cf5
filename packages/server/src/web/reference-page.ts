import { type ApiDocument, tokenVariable } from './api-document.js';
import { type Content, codeBlock, type Html, html, paragraphs } from './markup.js';
import { type Endpoint, endpointAnchor, endpointTitle, methodBadge } from './reference-endpoint.js';
import { receivedAnchor, receivedOf, receivedSection } from './reference-events.js';
import { type Guide, guidesOf } from './reference-guides.js';
import { endpointArticle } from './reference-operation.js';
import { type ProblemTable, problemAnchor, problemSection } from './reference-problems.js';
import { type Chapter, chapterMarkup, chaptersOf, overviewTable, tagAnchor } from './reference-tags.js';

/** One place of the navigation; `words` is what the filter looks through. */
interface NavItem {
  href: string;
  label: Content;
  words: string;
}

/**
 * The API reference: one page made of the OpenAPI document and the table of problems, nothing else. It works
 * without a script; the one it has adds copying, the filter, the token, and trying.
 */
export function referencePage(document: ApiDocument, problems: ProblemTable): string {
  const { info } = document;
  const guides = guidesOf(document);
  const chapters = chaptersOf(document);
  const received = receivedOf(document);
  const hrefOfCode = (code: string) =>
    Object.hasOwn(problems, code) ? `#${problemAnchor(code)}` : undefined;

  const navigation = [
    navGroup('Guide', true, [
      { href: '#top', label: 'Introduction', words: 'introduction start' },
      ...guides.map(({ id, title }) => ({ href: `#${id}`, label: title, words: title })),
      ...(received.length > 0
        ? [{ href: '#received', label: 'Receiving webhooks', words: 'receiving webhooks envelope signature' }]
        : []),
      { href: '#errors', label: 'Errors', words: 'errors problem' },
    ]),
    ...chapters.map(navChapter),
    received.length > 0 &&
      navGroup(
        'Event types',
        false,
        received.map(({ type, operation }) => ({
          href: `#${receivedAnchor(type)}`,
          label: html`<code>${type}</code>`,
          words: `${type} ${operation.summary ?? ''}`,
        })),
      ),
    navGroup(
      'Error codes',
      false,
      Object.entries(problems).map(([code, { status, title }]) => ({
        href: `#${problemAnchor(code)}`,
        label: html`<code>${code}</code>`,
        words: `${code} ${status} ${title}`,
      })),
    ),
  ];

  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} reference</title>
<link rel="icon" href="docs/posthorn.svg" type="image/svg+xml">
<link rel="stylesheet" href="docs/reference.css">
<script src="docs/reference.js" type="module"></script>
</head>
<body id="top">
<a class="skip" href="#content">Skip to the content</a>
<header class="bar">
<a class="brand" href="#top"><img src="docs/posthorn.svg" alt="" width="30" height="30"> <span>${info.title}</span></a>
<span class="version">${info.version}</span>
<button class="menu" popovertarget="menu">Menu</button>
</header>
<form class="token" hidden><label for="token">Token</label><input id="token" type="password" placeholder="fills the examples, stays in this tab" autocomplete="off" spellcheck="false" autocapitalize="off" aria-describedby="token-fault"><span id="token-fault" role="status"></span></form>
<nav id="menu" popover aria-label="Reference">
<label class="filter" hidden><span>Filter</span><input type="search" placeholder="Filter  ( / )" spellcheck="false" autocapitalize="off"></label>
<p class="none" role="status"></p>
${navigation}
</nav>
<main id="content" tabindex="-1">
${introduction(document, chapters)}
${guides.map(guideSection)}
${chapters.map((chapter) =>
  chapterMarkup(chapter, (endpoint, isFolded) => endpointArticle(document, endpoint, hrefOfCode, isFolded)),
)}
${receivedSection(document, received)}
${problemSection(document, problems)}
</main>
</body>
</html>
`.text;
}

/** The tags of a chapter are folded: there are many of them, and each is found by its name. */
function navChapter({ name, sections }: Chapter): Content {
  const isOpen = name === undefined;
  const groups = sections.map((section) =>
    navGroup(section.name, isOpen, section.endpoints.map(endpointItem)),
  );
  if (isOpen) return groups;
  return html`<p class="chapter-name"><a href="#${tagAnchor(name)}">${name}</a></p><div class="chapter-groups">${groups}</div>
`;
}

function navGroup(title: string, open: boolean, items: readonly NavItem[]): Html {
  return html`<details class="group"${open && html` open`}><summary>${title}${!open && html` <span>${items.length}</span>`}</summary><ul>${items.map(
    ({ href, label, words }) =>
      html`<li data-words="${words.toLowerCase()}"><a href="${href}">${label}</a></li>`,
  )}</ul></details>
`;
}

function endpointItem(endpoint: Endpoint): NavItem {
  const { method, operation, path } = endpoint;
  const title = endpointTitle(endpoint);
  return {
    href: `#${endpointAnchor(endpoint)}`,
    label: html`<span>${title}</span> ${methodBadge(method)}`,
    words: `${method} ${path} ${title} ${operation.operationId ?? ''}`,
  };
}

function introduction(document: ApiDocument, chapters: readonly Chapter[]): Html {
  const { info } = document;
  return html`<section class="introduction">
<h1>${info.title}</h1>
<div class="columns"><div class="text">
<div class="lead">${paragraphs(info.description)}</div>
<p>This page is made from the <a href="openapi.json">OpenAPI 3.1 document</a> of this very service, version ${info.version}.</p>
</div><div class="samples">
${codeBlock('Base address', html`<span data-fill="address">$POSTHORN_URL</span>`)}
<noscript><p class="hint">Set <code>POSTHORN_URL</code> and <code>${tokenVariable(document)}</code> in your shell, and the examples below work when pasted.</p></noscript>
</div></div>
${overviewTable(chapters)}
</section>`;
}

function guideSection({ id, title, body }: Guide): Html {
  return html`<section class="guide" id="${id}"><h2><a href="#${id}">${title}</a></h2>
${body}
</section>
`;
}
