export type JsonTokenKind = 'key' | 'string' | 'number' | 'word' | 'mark' | 'space';

export interface JsonToken {
  kind: JsonTokenKind;
  text: string;
  start: number;
}

const pattern =
  /(?<string>"(?:[^"\\]|\\.)*")|(?<number>-?\d[\d.eE+-]*)|(?<word>true|false|null)|(?<mark>[{}[\],:])|(?<space>\s+)/gy;

/** Splits JSON text into tokens, or returns undefined if it is not JSON. Numbers stay as they are written. */
export function jsonTokens(text: string): JsonToken[] | undefined {
  const tokens: JsonToken[] = [];
  const scanner = new RegExp(pattern);
  while (scanner.lastIndex < text.length) {
    const start = scanner.lastIndex;
    const groups = scanner.exec(text)?.groups;
    if (!groups) return undefined;
    const [kind, found] = Object.entries(groups).find(([, value]) => value !== undefined)!;
    tokens.push({ kind: kind as JsonTokenKind, text: found!, start });
  }
  markKeys(tokens);
  return tokens;
}

function markKeys(tokens: JsonToken[]): void {
  let last: JsonToken | undefined;
  for (const token of tokens) {
    if (token.kind === 'space') continue;
    if (token.text === ':' && token.kind === 'mark' && last?.kind === 'string') last.kind = 'key';
    last = token;
  }
}
