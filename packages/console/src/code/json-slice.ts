import { jsonTokens } from './json-tokens';

/** Returns the exact text of the value at a path of object keys, or undefined if there is none. */
export function jsonSlice(text: string, path: readonly string[]): string | undefined {
  const tokens = jsonTokens(text)?.filter(({ kind }) => kind !== 'space');
  if (!tokens) return undefined;
  let at = 0;
  for (const key of path) {
    if (tokens[at]?.text !== '{') return undefined;
    at += 1;
    while (tokens[at] && !(tokens[at]!.kind === 'key' && JSON.parse(tokens[at]!.text) === key)) {
      if (tokens[at]!.text === '}') return undefined;
      at = endOfValue(at + 2);
      if (tokens[at]?.text === ',') at += 1;
    }
    at += 2;
  }
  const first = tokens[at];
  const last = tokens[endOfValue(at) - 1];
  return first && last ? text.slice(first.start, last.start + last.text.length) : undefined;

  /** Returns the index after the value that starts at an index. */
  function endOfValue(start: number): number {
    let depth = 0;
    for (let index = start; index < tokens!.length; index += 1) {
      const token = tokens![index]!;
      if (token.kind === 'mark' && (token.text === '{' || token.text === '[')) depth += 1;
      if (token.kind === 'mark' && (token.text === '}' || token.text === ']')) depth -= 1;
      if (depth === 0) return index + 1;
    }
    return tokens!.length;
  }
}
