import { type Fault, pointerTo } from './fault.js';

/**
 * PostgreSQL's JSON parser is recursive. This limit is far below what would exhaust its stack and far above what
 * real payloads need.
 */
const depthMax = 100;

/** Returns what PostgreSQL's json type cannot store: NUL, unpaired surrogates and very deep nesting. */
export function unstorableFaults(value: unknown): readonly Fault[] {
  return isStorableValue(value, 0) ? [] : findUnstorable(value, '', 0, []);
}

/** Returns whether there are no faults, without the cost of locating them. */
function isStorableValue(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth > depthMax) return false;
  for (const key in value) {
    if (!isStorable(key) || !isStorableValue((value as Record<string, unknown>)[key], depth + 1))
      return false;
  }
  return true;
}

function findUnstorable(value: unknown, pointer: string, depth: number, found: Fault[]): readonly Fault[] {
  if (typeof value === 'string') {
    if (!isStorable(value)) found.push(unstorableText(pointer));
  } else if (typeof value === 'object' && value !== null) {
    if (depth > depthMax) {
      found.push({ pointer, code: 'too_deep', detail: `is nested more than ${depthMax} levels deep` });
      return found;
    }
    for (const [key, inner] of Object.entries(value)) {
      if (!isStorable(key)) found.push(unstorableText(pointer));
      const at = pointerTo(pointer, key);
      findUnstorable(inner, at, depth + 1, found);
    }
  }
  return found;
}

/**
 * Returns whether the escapes in a JSON text hide a fault that the parsed value does not show. If a key appears
 * twice, the value has only the last one, but the stored text has both.
 */
export function hidesUnstorable(json: string): boolean {
  if (!json.includes('\\u')) return false;
  let openUntil = -1;
  for (const { 0: spelling, 1: digits, index } of json.matchAll(/\\(?:u([0-9a-fA-F]{4})|.)/g)) {
    const code = digits === undefined ? -1 : Number.parseInt(digits, 16);
    const isSecondHalf = code >= 0xdc00 && code <= 0xdfff;
    // A high surrogate must be followed directly by a low one, and a low one must not occur anywhere else.
    if (code === 0 || (openUntil >= 0 ? !isSecondHalf || index !== openUntil : isSecondHalf)) return true;
    openUntil = code >= 0xd800 && code <= 0xdbff ? index + spelling.length : -1;
  }
  return openUntil >= 0;
}

const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed();

function unstorableText(pointer: string): Fault {
  return {
    pointer,
    code: 'invalid_text',
    detail: 'contains a NUL character or an unpaired surrogate',
  };
}
