import { Problem } from '../values/problem.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });
/** An unexpected token in a longer text is not located, because that takes several passes. */
const locatedMax = 64 * 1024;

export function decodeBody(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new Problem('malformed_json', 'The body is not UTF-8 text.');
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem('malformed_json', `The body is not valid JSON${placeOf(error as Error, text)}.`);
  }
}

/** Returns where a text stops being JSON. Does not quote the text, as V8's messages do: it may contain a secret. */
function placeOf(error: Error, text: string): string {
  if (error.message.startsWith('Unexpected end')) return ': unexpected end';
  const position = isUnexpectedToken(error)
    ? positionOfToken(text)
    : /at position (\d+)/.exec(error.message)?.[1];
  return position === undefined ? '' : `: error at character ${position}`;
}

/**
 * Returns the position of an unexpected token. V8 does not report it, so search for the shortest beginning of the text
 * that has the same error.
 */
function positionOfToken(text: string): number | undefined {
  if (text.length > locatedMax) return undefined;
  let [tooShort, longEnough] = [0, text.length];
  while (longEnough - tooShort > 1) {
    const middle = Math.floor((tooShort + longEnough) / 2);
    if (hasUnexpectedToken(text.slice(0, middle))) longEnough = middle;
    else tooShort = middle;
  }
  return longEnough - 1;
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return isUnexpectedToken(error as Error);
  }
}

function isUnexpectedToken({ message }: Error): boolean {
  return message.startsWith('Unexpected token');
}
