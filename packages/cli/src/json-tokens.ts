const start = /"|[{}[\],:]|[^\s"{}[\],:]+/g;

/** Splits JSON text into strings, marks, and numbers or words, each exactly as it is written. */
export function* jsonTokens(json: string): Generator<{ text: string; index: number }> {
  const scanner = new RegExp(start);
  for (let found = scanner.exec(json); found; found = scanner.exec(json)) {
    const { index } = found;
    if (found[0] === '"') scanner.lastIndex = endOfString(json, index);
    yield { text: json.slice(index, scanner.lastIndex), index };
  }
}

/**
 * Returns the end of the string that starts at an index. A regular expression would keep a state for every escape, and
 * fail for a string with millions of them.
 */
function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let before = quote - 1;
    while (json[before] === '\\') before -= 1;
    const isEscaped = (quote - before) % 2 === 0;
    if (!isEscaped) return quote + 1;
  }
  return json.length;
}
