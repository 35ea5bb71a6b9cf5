/** Text that is HTML already. Everything else is escaped on its way into a template. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = Html | string | number | false | undefined | readonly Content[];

/** A template of HTML: what is put in is text, unless it is `Html` itself. */
export function html(strings: TemplateStringsArray, ...contents: readonly Content[]): Html {
  return new Html(strings.map((string, index) => string + markupOf(contents[index])).join(''));
}

function markupOf(content: Content): string {
  if (content instanceof Html) return content.text;
  if (content === undefined || content === false) return '';
  if (typeof content === 'string' || typeof content === 'number') return escaped(String(content));
  return content.map(markupOf).join('');
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** Paragraphs of `inline` Markdown, separated by blank lines. */
export function paragraphs(text: string | undefined): Html {
  const parts = (text ?? '').split(/\n\s*\n/).filter((part) => part.trim() !== '');
  return html`${parts.map((part) => html`<p>${inline(part)}</p>`)}`;
}

const inlineMark = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/**
 * The Markdown that descriptions are written in: `code`, **bold** and [links](#). `hrefOfCode` may make a
 * link of a piece of code.
 */
export function inline(text: string | undefined, hrefOfCode?: (code: string) => string | undefined): Html {
  const parts: Content[] = [];
  let end = 0;
  for (const match of (text ?? '').matchAll(inlineMark)) {
    const [whole, code, bold, label, href] = match;
    parts.push((text ?? '').slice(end, match.index));
    end = match.index + whole.length;
    if (code !== undefined) parts.push(linked(html`<code>${code}</code>`, hrefOfCode?.(code)));
    else if (bold !== undefined) parts.push(html`<strong>${bold}</strong>`);
    else parts.push(linked(inline(label), safeHref(href ?? '')));
  }
  parts.push((text ?? '').slice(end));
  return html`${parts}`;
}

function linked(label: Content, href: string | undefined): Html {
  return href === undefined ? html`${label}` : html`<a href="${href}">${label}</a>`;
}

/** Descriptions also come from a catalogue file: no link out of one may run a script. */
function safeHref(href: string): string | undefined {
  return /^(https?:\/\/|#|\/(?!\/))/.test(href) ? href : undefined;
}

const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g;

/** JSON with its keys and values told apart. */
export function jsonMarkup(value: unknown): Html {
  const text = JSON.stringify(value, null, 2) ?? '';
  const parts: Content[] = [];
  let end = 0;
  for (const match of text.matchAll(jsonToken)) {
    const [whole, string, colon] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (string === undefined) parts.push(html`<b class="literal">${whole}</b>`);
    else if (colon === undefined) parts.push(html`<b class="string">${string}</b>`);
    else parts.push(html`<b class="key">${string}</b>${colon}`);
  }
  parts.push(text.slice(end));
  return html`${parts}`;
}

/** An id that can stand in a link, whatever the name is. */
export function anchor(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]+/g, '-');
}

/** A block of code with a caption; the page's script adds a button that copies it. */
export function codeBlock(caption: Content, code: Content): Html {
  return html`<figure class="code"><figcaption><span>${caption}</span></figcaption><pre><code>${code}</code></pre></figure>`;
}
