import type { ApiDocument, MoveRow } from './api-document.js';
import { anchor, type Content, type Html, html, paragraphs } from './markup.js';
import {
  type Endpoint,
  endpointAnchor,
  endpointsOf,
  endpointTitle,
  methodBadge,
} from './reference-endpoint.js';
import { movesTable } from './reference-moves.js';

/** The operations of one tag. */
interface TagSection {
  name: string;
  description: string | undefined;
  moves: readonly MoveRow[];
  endpoints: readonly Endpoint[];
}

/** Tags under one heading; a tag that belongs to no group stands alone, without one. */
export interface Chapter {
  name: string | undefined;
  description: string | undefined;
  sections: readonly TagSection[];
}

/** Operations by their first tag, in the order of the document's own list; a tag it forgot comes last. */
export function chaptersOf(document: ApiDocument): Chapter[] {
  const groups = document['x-tagGroups'] ?? [];
  const sections = tagSections(document);
  const chapters: Chapter[] = [];
  for (const section of sections) {
    const group = groups.find(({ tags }) => tags.includes(section.name));
    if (!group) chapters.push({ name: undefined, description: undefined, sections: [section] });
    else if (!chapters.some(({ name }) => name === group.name)) {
      const { name, description, tags } = group;
      chapters.push({ name, description, sections: sections.filter((one) => tags.includes(one.name)) });
    }
  }
  return chapters;
}

function tagSections(document: ApiDocument): TagSection[] {
  const endpoints = endpointsOf(document);
  const tagOf = ({ operation }: Endpoint) => operation.tags?.[0] ?? 'Other';
  const listed = document.tags ?? [];
  const names = new Set([...listed.map(({ name }) => name), ...endpoints.map(tagOf)]);
  return [...names]
    .map((name) => {
      const tag = listed.find((one) => one.name === name);
      return {
        ...{ name, description: tag?.description, moves: tag?.['x-moves'] ?? [] },
        endpoints: endpoints.filter((endpoint) => tagOf(endpoint) === name),
      };
    })
    .filter((section) => section.endpoints.length > 0);
}

export function tagAnchor(name: string): string {
  return `tag-${anchor(name)}`;
}

/** In a chapter of many tags the operations are folded, so that its tables can be seen at once. */
export function chapterMarkup(
  chapter: Chapter,
  article: (endpoint: Endpoint, isFolded: boolean) => Html,
): Content {
  const isFolded = chapter.name !== undefined;
  const sections = chapter.sections.map((section) =>
    sectionMarkup(section, (endpoint) => article(endpoint, isFolded)),
  );
  if (chapter.name === undefined) return sections;
  const id = tagAnchor(chapter.name);
  return [
    html`<section class="chapter" id="${id}">
<h2><a href="#${id}">${chapter.name}</a></h2>
<div class="text">${paragraphs(chapter.description)}</div>
<ul class="contents">${chapter.sections.map(({ name }) => html`<li><a href="#${tagAnchor(name)}">${name}</a></li>`)}</ul>
</section>
`,
    sections,
  ];
}

function sectionMarkup(section: TagSection, article: (endpoint: Endpoint) => Html): Html {
  const { name, description, moves, endpoints } = section;
  const id = tagAnchor(name);
  return html`<section id="${id}">
<h2><a href="#${id}">${name}</a></h2>
<div class="text">${paragraphs(description)}${moves.length > 0 && movesTable(moves)}</div>
${endpoints.map(article)}
</section>
`;
}

/** Every operation in one table, by its tag. */
export function overviewTable(chapters: readonly Chapter[]): Html {
  const sections = chapters.flatMap((chapter) => chapter.sections);
  return html`<table class="overview"><caption>Every operation</caption>${sections.map(overviewPart)}</table>`;
}

function overviewPart({ name, endpoints }: TagSection): Html {
  return html`<tbody>
<tr><th colspan="3" scope="rowgroup"><a href="#${tagAnchor(name)}">${name}</a></th></tr>${endpoints.map(
    (endpoint) => html`
<tr><td>${methodBadge(endpoint.method)}</td><td><code>${endpoint.path}</code></td>
<td><a href="#${endpointAnchor(endpoint)}">${endpointTitle(endpoint)}</a></td></tr>`,
  )}</tbody>`;
}
