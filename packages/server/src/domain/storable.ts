import type { Fault } from './fault.js';

/** PostgreSQL's JSON parser recurses; far below what would exhaust its stack, far above real payloads. */
const depthMax = 100;

/** What PostgreSQL's json cannot hold: NUL, halves of surrogate pairs, and very deep nesting. */
export function unstorableFaults(value: unknown): readonly Fault[] {
  return isStorableValue(value, 0) ? [] : findUnstorable(value, '', 0, []);
}

/** Whether there is nothing to find, without the cost of saying where. */
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
      const at = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      findUnstorable(inner, at, depth + 1, found);
    }
  }
  return found;
}

const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed();

function unstorableText(pointer: string): Fault {
  return {
    pointer,
    code: 'invalid_text',
    detail: 'has a NUL character or half of a surrogate pair, which no text may have',
  };
}
