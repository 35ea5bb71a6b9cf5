import { type JsonToken, type JsonTokenKind, jsonTokens } from './json-tokens';

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
