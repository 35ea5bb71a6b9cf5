/** A query string as sent. A name that appears twice keeps both values, so that the request can be refused. */
export type RawQuery = Record<string, string | string[]>;

/** Marks a name or value whose percent-encoding is not UTF-8. No valid one contains NUL. */
const undecodable = '\0undecodable';

export function parseQueryString(text: string): RawQuery {
  const query: RawQuery = Object.create(null);
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? '' : decode(part.slice(equals + 1));
    const before = query[name];
    if (before === undefined) query[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else query[name] = [before, value];
  }
  return query;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undecodable;
  }
}

/** Returns whether a name or value could be decoded and has no NUL, which PostgreSQL cannot store. */
export function isReadable(text: string): boolean {
  return !text.includes('\0');
}
