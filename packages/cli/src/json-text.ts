const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

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
  for (const { 0: part, index } of json.matchAll(token)) {
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

  /** Returns the text of a result, in one line. */
  of(result: object): string {
    return (this.#texts.get(result) ?? JSON.stringify(result)).replace(/[\r\n]+/g, ' ');
  }

  /** Returns the text of an event's payload, as it was recorded. */
  payloadOf(event: { payload: object }): string {
    const text = this.#texts.get(event);
    return (text !== undefined && memberOf(text, 'payload')) || JSON.stringify(event.payload);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
