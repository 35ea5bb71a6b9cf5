const start = /"|[{}[\],:]|[^\s"{}[\],:]+/g;

/** Splits JSON text into strings, marks, and numbers or words, each exactly as it is written. */
function* jsonTokens(json: string): Generator<{ text: string; index: number }> {
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

/**
 * Indents JSON for display. It does not parse values, so numbers that are too large for JavaScript stay exact and keys
 * keep their order.
 */
export function indentedJson(json: string): string {
  let text = '';
  let depth = 0;
  let before = '';
  const newLine = () => `\n${'  '.repeat(depth)}`;
  for (const { text: part } of jsonTokens(json)) {
    const opened = before === '{' || before === '[';
    const closes = part === '}' || part === ']';
    if (closes) depth -= 1;
    if (before === ',' || opened !== closes) text += newLine();
    text += part === ':' ? ': ' : part;
    if (part === '{' || part === '[') depth += 1;
    before = part;
  }
  return text;
}

interface Child {
  /** The name of a member; undefined for an element of an array. */
  name: string | undefined;
  text: string;
}

/**
 * Splits the text of a JSON object or array into the texts of its members or elements. Parsing would round numbers that
 * JavaScript cannot represent and change how others are written.
 */
export function childrenOf(json: string): Child[] {
  const children: Child[] = [];
  let depth = 0;
  let name: string | undefined;
  let from = -1;
  let to = 0;
  const end = () => {
    if (from >= 0) children.push({ name, text: json.slice(from, to) });
    name = undefined;
    from = -1;
  };
  for (const { text: part, index } of jsonTokens(json)) {
    const opens = part === '{' || part === '[';
    if (part === '}' || part === ']') depth -= 1;
    if (depth === 0) end();
    else if (depth === 1 && part === ',') end();
    else if (depth === 1 && part === ':') {
      name = JSON.parse(json.slice(from, to));
      from = -1;
    } else if (from < 0) from = index;
    to = index + part.length;
    if (opens) depth += 1;
  }
  return children;
}

/** Returns the text of one member of an object. */
export function memberOf(json: string, name: string): string | undefined {
  return childrenOf(json).findLast((child) => child.name === name)?.text;
}

/**
 * Returns the JSON with the value at this path replaced or added; everything else keeps its text. What is neither an
 * object nor an array becomes an object. Returns undefined if the path leads to an array, but not to one of its
 * elements or to its end.
 */
export function withValue(json: string, path: readonly string[], value: string): string | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const isArray = json.startsWith('[');
  const children = isArray || json.startsWith('{') ? childrenOf(json) : [];
  const found = isArray ? Number(name) : children.findLastIndex((child) => child.name === name);
  if (isArray && !(/^\d+$/.test(name) && found <= children.length)) return undefined;
  const index = found < 0 ? children.length : found;
  const text = withValue(children[index]?.text ?? '', rest, value);
  if (text === undefined) return undefined;
  children[index] = { name: isArray ? undefined : name, text };
  const parts = children.map((child) =>
    child.name === undefined ? child.text : `${JSON.stringify(child.name)}:${child.text}`,
  );
  return isArray ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}

/** Parses responses, and keeps the text of every result, exactly as the service sent it. */
export class JsonTexts {
  readonly #texts = new WeakMap<object, string>();

  /** Parses a response with `data`, or a single event of the tail. */
  parse = (text: string): unknown => {
    const body = JSON.parse(text) as { data?: unknown } | null;
    const data = body?.data;
    if (Array.isArray(data)) {
      const elements = childrenOf(memberOf(text, 'data') ?? '[]');
      for (const [index, one] of data.entries()) this.#texts.set(one, elements[index]?.text ?? '');
    } else if (isObject(data)) this.#texts.set(data, memberOf(text, 'data') ?? '');
    else if (isObject(body)) this.#texts.set(body, text);
    return body;
  };

  /** Returns the text of a result, or of an object or array that contains results, in one line. */
  of(result: object): string {
    return this.#textOf(result).replace(/[\r\n]+/g, ' ');
  }

  /** Returns the text of an event's payload, as it was recorded. */
  payloadOf(event: { payload: object }): string {
    const text = this.#texts.get(event);
    return (text !== undefined && memberOf(text, 'payload')) || JSON.stringify(event.payload);
  }

  #textOf(value: unknown): string {
    if (!isObject(value)) return JSON.stringify(value);
    const kept = this.#texts.get(value);
    if (kept !== undefined) return kept;
    if (Array.isArray(value)) return `[${value.map((one) => this.#textOf(one)).join(',')}]`;
    const given = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${given.map(([name, member]) => `${JSON.stringify(name)}:${this.#textOf(member)}`).join(',')}}`;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
