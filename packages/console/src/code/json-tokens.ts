export type JsonTokenKind = 'key' | 'string' | 'number' | 'word' | 'mark' | 'space';

export interface JsonToken {
  kind: JsonTokenKind;
  text: string;
  start: number;
}

const pattern = /"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]|\s+/gy;

/**
 * Splits JSON text into tokens, or returns undefined if it is not JSON. Numbers stay as they are written. `end` is how
 * far to read: a token that reaches beyond it is cut.
 */
export function jsonTokens(text: string, end = text.length): JsonToken[] | undefined {
  const tokens: JsonToken[] = [];
  const scanner = new RegExp(pattern);
  while (scanner.lastIndex < end) {
    const start = scanner.lastIndex;
    if (!scanner.test(text)) return undefined;
    if (text[start] === '"') scanner.lastIndex = endOfString(text, start);
    if (scanner.lastIndex === 0) return undefined;
    const found = text.slice(start, Math.min(scanner.lastIndex, end));
    tokens.push({ kind: kindOf(found), text: found, start });
  }
  markKeys(tokens);
  return tokens;
}

/**
 * Returns the end of the string that starts at an index; 0 if it has no end. A regular expression would keep a state
 * for every character, and fail for a string with millions of them.
 */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1;
    while (text[before] === '\\') before -= 1;
    const isEscaped = (quote - before) % 2 === 0;
    if (!isEscaped) return quote + 1;
  }
  return 0;
}

/** Returns the kind of a token by its first character. */
function kindOf(token: string): JsonTokenKind {
  const first = token.charAt(0);
  if (first === '"') return 'string';
  if ('{}[],:'.includes(first)) return 'mark';
  if ('tfn'.includes(first)) return 'word';
  return /[-\d]/.test(first) ? 'number' : 'space';
}

function markKeys(tokens: JsonToken[]): void {
  let last: JsonToken | undefined;
  for (const token of tokens) {
    if (token.kind === 'space') continue;
    if (token.text === ':' && token.kind === 'mark' && last?.kind === 'string') last.kind = 'key';
    last = token;
  }
}
