type JsonTokenKind = 'key' | 'string' | 'number' | 'word' | 'mark' | 'space';

interface JsonToken {
  kind: JsonTokenKind;
  text: string;
  start: number;
}

const pattern = /"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]|\s+/gy;

/**
 * Splits JSON text into tokens, or returns undefined if it is not JSON. Numbers stay as they are written. `end` is how
 * far to read: a token that reaches beyond it is cut.
 */
function jsonTokens(text: string, end = text.length): JsonToken[] | undefined {
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

export interface Piece {
  kind: JsonTokenKind | 'text';
  text: string;
}

const inlineMax = 44;

/**
 * Lays JSON out with indentation, as pieces to be colored. Works on the text, so that digits, key order and escapes
 * stay as they were sent. Short objects and arrays of plain values stay on one line. Reads the text up to `end`.
 */
export function prettyJson(text: string, end?: number): Piece[] | undefined {
  const all = jsonTokens(text, end);
  if (!all) return undefined;
  const tokens = all.filter(({ kind }) => kind !== 'space');
  const pieces: Piece[] = [];
  const stack: boolean[] = [];
  const newLine = () => pieces.push({ kind: 'space', text: `\n${'  '.repeat(stack.length)}` });
  tokens.forEach((token, index) => {
    const isInline = stack.at(-1) ?? false;
    switch (token.text) {
      case '{':
      case '[': {
        const end = inlineEnd(tokens, index);
        pieces.push(token);
        stack.push(end !== undefined);
        if (end === index + 1) return;
        if (end === undefined) newLine();
        else if (token.text === '{') pieces.push({ kind: 'space', text: ' ' });
        return;
      }
      case '}':
      case ']': {
        const wasEmpty = /^[{[]$/.test(tokens[index - 1]?.text ?? '');
        stack.pop();
        if (!isInline) newLine();
        else if (token.text === '}' && !wasEmpty) pieces.push({ kind: 'space', text: ' ' });
        pieces.push(token);
        return;
      }
      case ',':
        pieces.push(token);
        if (isInline) pieces.push({ kind: 'space', text: ' ' });
        else newLine();
        return;
      case ':':
        pieces.push(token, { kind: 'space', text: ' ' });
        return;
      default:
        pieces.push(token);
    }
  });
  return pieces;
}

/** Returns the JSON text of a value, laid out. */
export function laidOut(value: unknown): string {
  return prettyJson(JSON.stringify(value))!
    .map(({ text }) => text)
    .join('');
}

/** Returns where a short object or array of plain values ends, or undefined if it needs lines of its own. */
function inlineEnd(tokens: readonly JsonToken[], start: number): number | undefined {
  let length = 0;
  const isTop = start === 0;
  for (let index = start + 1; index < tokens.length; index += 1) {
    const { text } = tokens[index]!;
    if (text === '}' || text === ']') return isTop && index > start + 1 ? undefined : index;
    if (text === '{' || text === '[') return undefined;
    length += text.length + 1;
    if (length > inlineMax) return undefined;
  }
  return undefined;
}

/** Returns where the value at a JSON Pointer starts and ends, or undefined if there is none. */
function placeOf(text: string, pointer: string): { start: number; end: number } | undefined {
  const path: (string | number)[] = [];
  let start: number | undefined;
  /** How deep the token is in the value. */
  let depth = 0;
  for (const { kind, text: token, start: at } of jsonTokens(text) ?? []) {
    const mark = kind === 'mark' ? token : '';
    const isValue = kind !== 'space' && kind !== 'key' && (kind !== 'mark' || /[{[]/.test(mark));
    if (start === undefined && isValue && pointer === pointerTo(path)) start = at;
    if (/[{[]/.test(mark)) depth += start === undefined ? 0 : 1;
    if (/[}\]]/.test(mark)) depth -= start === undefined ? 0 : 1;
    if (start !== undefined && depth === 0) return { start, end: at + token.length };
    if (kind === 'key') path[path.length - 1] = JSON.parse(token);
    else if (/[{[]/.test(mark)) path.push(mark === '[' ? 0 : '');
    else if (/[}\]]/.test(mark)) path.pop();
    else if (mark === ',' && typeof path.at(-1) === 'number') path.push(Number(path.pop()) + 1);
  }
  return undefined;
}

/** Returns the exact text of the value at a path of object keys, or undefined if there is none. */
export function jsonSlice(text: string, path: readonly string[]): string | undefined {
  const place = placeOf(text, pointerTo(path));
  return place && text.slice(place.start, place.end);
}

/** Returns the line, from 1 on, with the value at a JSON Pointer; undefined if there is none. */
export function lineOf(text: string, pointer: string): number | undefined {
  const place = placeOf(text, pointer);
  return place && text.slice(0, place.start).split('\n').length;
}

/** Returns the name of a field as it is written in a JSON Pointer. */
export const escapedName = (name: string | number) =>
  String(name).replaceAll('~', '~0').replaceAll('/', '~1');

const pointerTo = (path: readonly (string | number)[]) =>
  path.map((name) => `/${escapedName(name)}`).join('');
