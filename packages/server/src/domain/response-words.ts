import { printable } from './evidence.js';

/** The human-readable text in a response. */
export interface ResponseWords {
  text: string;
  /** Whether the text is only a part of the response, such as the title of a page. */
  isPart: boolean;
}

/** The fields in which APIs return messages, the most specific first. */
const messageFields = ['detail', 'message', 'error_description', 'error', 'errors', 'title', 'reason', 'msg'];
const depthMax = 4;

/**
 * Returns the text of a response: the message in a JSON body, the title or the first text of an HTML page, or
 * otherwise the body itself. The body may be cut off anywhere.
 */
export function wordsOf(response: string | null): ResponseWords {
  const body = (response ?? '').trim();
  const part = body.startsWith('<') ? textOfPage(body) : /^[{[]/.test(body) ? messageOf(body) : undefined;
  const text = tidy(part ?? (body.startsWith('<') ? '' : body));
  return { text, isPart: part !== undefined };
}

const tidy = (text: string) => printable(text).replace(/[.\s]+$/, '');

function messageOf(body: string): string | undefined {
  try {
    return messageIn(JSON.parse(body), 0);
  } catch {
    return messageInCut(body);
  }
}

function messageIn(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value !== 'object' || value === null || depth === depthMax) return undefined;
  if (Array.isArray(value)) return messageIn(value[0], depth + 1);
  for (const field of messageFields) {
    const found = messageIn((value as Record<string, unknown>)[field], depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Looks for a message in JSON that was cut off and therefore cannot be parsed. */
function messageInCut(body: string): string | undefined {
  for (const field of messageFields) {
    const text = new RegExp(`"${field}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`).exec(body)?.[1];
    if (text) return text.replaceAll(/\\(.)/g, '$1');
  }
  return undefined;
}

function textOfPage(body: string): string | undefined {
  const title = /<title[^>]*>([^<]*)/i.exec(body)?.[1];
  const heading = /<h1[^>]*>([^<]*)/i.exec(body)?.[1];
  const text = body
    .replaceAll(/<!--[\s\S]*?(-->|$)/g, ' ')
    .replaceAll(/<(script|style)\b[\s\S]*?(<\/\1>|$)/gi, ' ')
    .replaceAll(/<[^>]*(>|$)/g, ' ');
  return [title, heading, text].map((one) => decoded(one ?? '')).find((one) => one !== '');
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** Replaces the entities that error pages use, and joins the lines. */
function decoded(html: string): string {
  const text = html.replaceAll(
    /&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|([a-z]{2,6}));/gi,
    (entity, decimal, hex, name) => {
      if (name !== undefined) return entities[name] ?? entity;
      return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
    },
  );
  return text.replaceAll(/\s+/g, ' ').trim();
}
