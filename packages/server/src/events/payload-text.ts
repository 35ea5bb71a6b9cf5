const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const space = 0x20;

/**
 * Returns the text of each event's payload, exactly as sent. `text` is valid JSON: one event or an array of events. If
 * a key appears twice, the last one wins, as with JSON.parse.
 */
export function payloadTexts(text: string): string[] {
  const payloads: string[] = [];
  let at = afterSpace(text, 0);
  if (text.charCodeAt(at) === openBrace) {
    readEvent(text, at, payloads);
    return payloads;
  }
  at = afterSpace(text, at + 1);
  while (at < text.length && text.charCodeAt(at) !== closeBracket) {
    at = afterSpace(text, readEvent(text, at, payloads));
    if (text.charCodeAt(at) === comma) at = afterSpace(text, at + 1);
  }
  return payloads;
}

/** Reads the event that starts at `at` and returns where it ends. */
function readEvent(text: string, at: number, payloads: string[]): number {
  let payload = '';
  let next = afterSpace(text, at + 1);
  while (text.charCodeAt(next) !== closeBrace) {
    const keyEnd = afterString(text, next);
    const key = text.slice(next, keyEnd);
    const start = afterSpace(text, afterSpace(text, keyEnd) + 1);
    const end = afterValue(text, start);
    if (key === '"payload"' || (key.includes('\\') && JSON.parse(key) === 'payload')) {
      payload = text.slice(start, end);
    }
    next = afterSpace(text, end);
    if (text.charCodeAt(next) === comma) next = afterSpace(text, next + 1);
  }
  payloads.push(payload);
  return next + 1;
}

function afterValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return afterString(text, start);
  if (first === openBrace || first === openBracket) return afterNested(text, start);
  let at = start;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === comma || code === closeBrace || code === closeBracket || code <= space) return at;
  }
  return at;
}

function afterNested(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = afterString(text, at) - 1;
    else if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

function afterString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end > 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return text.length;
}

function afterSpace(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= space) at += 1;
  return at;
}
