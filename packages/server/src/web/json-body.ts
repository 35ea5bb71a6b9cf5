import { Problem } from '../values/problem.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

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
    throw new Problem('malformed_json', `The body is not valid JSON${placeOf(error as Error)}.`);
  }
}

/** Returns where a text stops being JSON, if V8 says so. Its message may quote the text, which may contain a secret. */
function placeOf({ message }: Error): string {
  if (message.startsWith('Unexpected end')) return ': unexpected end';
  const [, position] = /^(?!Unexpected token).* at position (\d+)/.exec(message) ?? [];
  return position === undefined ? '' : `: error at character ${position}`;
}
