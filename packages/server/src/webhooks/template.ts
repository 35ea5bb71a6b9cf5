import { type ExactJson, exactText } from '../values/exact-json.js';
import { type Fault, pointerTo } from '../values/fault.js';
import { unstorableFaults } from '../values/storable.js';

/** A body in which `{{path}}` stands for a value of the event. */
export type Template = readonly unknown[] | { readonly [key: string]: unknown };

const limits = { bytes: 16_384, levels: 10, names: 10 };
/**
 * How many characters of values one body can contain; further values count as missing. Without a limit, a template
 * could repeat a large payload a thousand times. Any one payload fits.
 */
const insertedMax = 8 * 1024 * 1024;

/** Literal text, or the path of a value. */
type Piece = string | readonly string[];

/** Returns everything that is wrong with a template. */
export function templateFaults(template: object): readonly Fault[] {
  if (Buffer.byteLength(JSON.stringify(template)) > limits.bytes) {
    return [{ pointer: '', code: 'too_long', detail: `must have at most ${limits.bytes} bytes as JSON` }];
  }
  const faults = [...unstorableFaults(template)];
  const check = (value: unknown, pointer: string, level: number) => {
    if (typeof value === 'number' && !Number.isFinite(value))
      faults.push({ pointer, code: 'too_large', detail: 'is a number out of range' });
    if (typeof value === 'string' && !piecesOf(value)) {
      const detail =
        `must contain only placeholders such as {{payload.id}}, with at most ${limits.names} names; ` +
        '{{{{ stands for two braces';
      faults.push({ pointer, code: 'invalid_placeholder', detail });
    }
    if (typeof value !== 'object' || value === null) return;
    if (level > limits.levels) {
      faults.push({ pointer, code: 'too_deep', detail: `must have at most ${limits.levels} levels` });
      return;
    }
    for (const [key, inner] of Object.entries(value)) check(inner, pointerTo(pointer, key), level + 1);
  };
  check(template, '', 1);
  return faults;
}

/** Returns the pieces of a string, or undefined if a placeholder cannot be read. */
function piecesOf(text: string): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  let end = 0;
  for (const { 0: found, 1: path, index } of text.matchAll(/\{\{\{\{|\{\{([^{}]*)\}\}|\{\{/g)) {
    if (index > end) pieces.push(text.slice(end, index));
    end = index + found.length;
    if (found === '{{{{') pieces.push('{{');
    else {
      const names = path?.trim().split('.') ?? [''];
      if (names.length > limits.names || names.includes('')) return undefined;
      pieces.push(names);
    }
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

/** Returns the template as JSON text, with the values of the event in place of its placeholders. */
export function renderTemplate(template: Template, event: ExactJson): string {
  let inserted = 0;
  const valueAt = (path: readonly string[]): ExactJson => {
    const value = inserted > insertedMax ? undefined : resolve(event, path);
    return value === undefined ? null : value;
  };
  const counted = (text: string) => {
    inserted += text.length;
    return inserted > insertedMax ? undefined : text;
  };
  const render = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(render).join(',')}]`;
    if (typeof value === 'object' && value !== null) {
      const fields = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${render(inner)}`);
      return `{${fields.join(',')}}`;
    }
    if (typeof value !== 'string') return JSON.stringify(value);
    const pieces = piecesOf(value) ?? [value];
    const [first] = pieces;
    if (pieces.length === 1 && typeof first === 'object') return counted(exactText(valueAt(first))) ?? 'null';
    const texts = pieces.map((piece) =>
      typeof piece === 'string' ? piece : (counted(textOf(valueAt(piece))) ?? ''),
    );
    return JSON.stringify(texts.join(''));
  };
  return render(template);
}

function resolve(event: ExactJson, path: readonly string[]): ExactJson | undefined {
  let value: ExactJson | undefined = event;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(name)) return undefined;
    value = Object.hasOwn(value, name) ? (value as Record<string, ExactJson>)[name] : undefined;
  }
  return value;
}

function textOf(value: ExactJson): string {
  if (value === null) return '';
  return typeof value === 'string' ? value.slice(1) : exactText(value);
}
