import type { Refusal } from '@posthorn/receiver';
import { printable } from './outcome.js';

/** The human-readable text in a response. */
export interface ResponseWords {
  /** Empty if there is none. */
  text: string;
  /** Whether the response is not text at all, such as an image or a compressed body. */
  isBinary: boolean;
  /** Whether the text is only a part of the response, such as the title of a page. */
  isPart: boolean;
}

/** The fields in which APIs return messages, most specific first. */
const messageFields = ['detail', 'message', 'error_description', 'error', 'errors', 'title', 'reason', 'msg'];
const depthMax = 4;

/**
 * Returns the text of a response: the message in a JSON body; the title, the first heading or all text of an HTML page;
 * or otherwise the body itself. The body may be cut off anywhere.
 */
export function wordsOf(response: string | null): ResponseWords {
  const body = (response ?? '').trim();
  if (isBinary(body)) return { text: '', isBinary: true, isPart: false };
  const part = body.startsWith('<') ? textOfPage(body) : /^[{[]/.test(body) ? messageOf(body) : undefined;
  const text = tidy(part ?? (body.startsWith('<') ? '' : body));
  return { text, isBinary: false, isPart: part !== undefined };
}

const tidy = (text: string) => withoutRuns(printable(text)).replace(/[.\s]+$/, '');

/** Shortens runs of one character, which would otherwise crowd out the words in a sentence. */
const withoutRuns = (text: string) => text.replaceAll(/(\S)\1{11,}/gu, (_run, one) => `${one.repeat(4)}…`);

/**
 * Returns whether a body that was decoded as UTF-8 is not text. Text in another encoding has some characters that could
 * not be decoded, but hardly any control characters other than white space and the start of a terminal color sequence
 * (`ESC [`).
 */
function isBinary(body: string): boolean {
  const controls = body.match(/(?!\s)\p{Cc}(?!\[)/gu)?.length ?? 0;
  const undecoded = body.match(/\ufffd/g)?.length ?? 0;
  return controls > body.length / 20 || controls + undecoded > body.length / 4;
}

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

export const checkSecretAndBody =
  'Check that it uses the secret of this webhook and verifies the raw body: a body that was parsed and serialized again does not match.';
const correctClock = 'Correct the clock of the machine that the receiver runs on.';
const keepHeaders =
  'Check that no proxy in front of the receiver removes or changes webhook-id, webhook-timestamp or webhook-signature.';

/** What to do about each reason for which @posthorn/receiver refuses a request. */
const refusals: Record<Refusal, string> = {
  no_secret: 'Set the secret of this webhook in the configuration of the receiver.',
  malformed_secret:
    'Correct the secret in the configuration of the receiver: it must be exactly the secret of this webhook.',
  body_not_raw:
    'Give the receiver the raw body, byte for byte as it arrived: no middleware may parse it first, and no proxy may change it.',
  missing_signature: keepHeaders,
  missing_timestamp: keepHeaders,
  malformed_timestamp: keepHeaders,
  malformed_signature: keepHeaders,
  signature_mismatch: checkSecretAndBody,
  timestamp_too_old: `${correctClock} If requests wait in a queue first, verify them when they arrive.`,
  timestamp_in_future: correctClock,
};

/** Returns what to do about a response from @posthorn/receiver, which starts with the reason and a colon. */
export function refusalRemedy(response: string | null): string | undefined {
  const [, reason = ''] = /^([a-z_]+): /.exec(wordsOf(response).text) ?? [];
  return Object.hasOwn(refusals, reason) ? refusals[reason as Refusal] : undefined;
}
