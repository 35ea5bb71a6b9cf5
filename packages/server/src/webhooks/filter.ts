import type { StoredEvent } from '../events/event.js';
import { compareNumbers, type ExactJson, parseExact } from '../values/exact-json.js';
import { type Fault, pointerTo } from '../values/fault.js';
import { unstorableFaults } from '../values/storable.js';

type Scalar = string | number | boolean | null;
type Range = { readonly [bound in keyof typeof bounds]?: number };
type Condition = Scalar | { prefix: string } | { not: readonly Scalar[] } | { exists: boolean } | Range;
interface Wanted {
  readonly [key: string]: Wanted | readonly Condition[];
}
type FieldName = (typeof fieldNames)[number];
/** Which of the subscribed events a webhook gets. */
export type Filter = { readonly [name in FieldName]?: readonly Condition[] } & { readonly payload?: Wanted };

const fieldNames = ['workspace_id', 'subject_type', 'subject_id', 'actor_type', 'actor_id'] as const;
const bounds = {
  gt: ['>', (order: number) => order > 0],
  gte: ['>=', (order: number) => order >= 0],
  lt: ['<', (order: number) => order < 0],
  lte: ['<=', (order: number) => order <= 0],
} as const;

const filterLimits = { bytes: 4096, levels: 5, conditions: 64, keyLength: 128 } as const;

/** Arrays within arrays count as their elements, down to this level. */
const arrayLevels = 4;

/** Returns everything that is wrong with a filter. */
export function filterFaults(filter: object): readonly Fault[] {
  const faults: Fault[] = [];
  const add = (pointer: string, code: string, detail: string) => faults.push({ pointer, code, detail });
  if (Buffer.byteLength(JSON.stringify(filter)) > filterLimits.bytes) {
    add('', 'too_long', `must have at most ${filterLimits.bytes} bytes as JSON`);
    return faults;
  }
  faults.push(...unstorableFaults(filter));
  let conditions = 0;

  const checkScalar = (value: unknown, pointer: string) => {
    if (typeof value === 'object' && value !== null)
      add(pointer, 'wrong_type', 'must be a string, a number, a boolean or null');
    if (typeof value === 'number') checkNumber(value, pointer);
  };
  const checkNumber = (value: unknown, pointer: string) => {
    if (typeof value !== 'number') add(pointer, 'wrong_type', 'must be a number');
    else if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
      add(pointer, 'too_large', `must be a number between ±${Number.MAX_SAFE_INTEGER}`);
  };
  const checkCondition = (condition: unknown, pointer: string) => {
    conditions += 1;
    if (!isObject(condition)) return checkScalar(condition, pointer);
    const names = Object.keys(condition);
    for (const [name, value] of Object.entries(condition)) {
      const at = pointerTo(pointer, name.slice(0, 150));
      if (Object.hasOwn(bounds, name)) checkNumber(value, at);
      else if (name === 'prefix') {
        if (typeof value !== 'string') add(at, 'wrong_type', 'must be a string');
      } else if (name === 'exists') {
        if (typeof value !== 'boolean') add(at, 'wrong_type', 'must be true or false');
      } else if (name === 'not') checkList(value, at, checkScalar);
      else {
        const known = ['prefix', 'not', 'exists', ...Object.keys(bounds)].join(', ');
        add(at, 'unknown_field', `is not a known condition; known conditions: ${known}`);
      }
    }
    const max = names.every((name) => Object.hasOwn(bounds, name)) ? 2 : 1;
    if (names.length < 1 || names.length > max)
      add(
        pointer,
        'invalid_condition',
        'must have one of prefix, not and exists, or one or two of gt, gte, lt, lte',
      );
  };
  const checkList = (list: unknown, pointer: string, check: (item: unknown, at: string) => void) => {
    if (!Array.isArray(list)) add(pointer, 'wrong_type', 'must be an array');
    else if (list.length === 0) add(pointer, 'too_few_items', 'must have at least 1 item');
    else for (const [index, item] of list.entries()) check(item, `${pointer}/${index}`);
  };
  const checkWanted = (wanted: unknown, pointer: string, level: number) => {
    if (!isObject(wanted)) return add(pointer, 'wrong_type', 'must be an object, or an array of conditions');
    if (level > filterLimits.levels)
      return add(pointer, 'too_deep', `must have at most ${filterLimits.levels} levels`);
    checkHasFields(wanted, pointer);
    for (const [key, inner] of Object.entries(wanted)) {
      const at = pointerTo(pointer, key.slice(0, 150));
      if (key.length > filterLimits.keyLength)
        add(at, 'too_long', `must have a name of at most ${filterLimits.keyLength} characters`);
      if (Array.isArray(inner)) checkList(inner, at, checkCondition);
      else checkWanted(inner, at, level + 1);
    }
  };
  const checkHasFields = (object: object, pointer: string) => {
    if (Object.keys(object).length === 0) add(pointer, 'too_few_fields', 'must have at least 1 field');
  };

  checkHasFields(filter, '');
  for (const [name, value] of Object.entries(filter)) {
    const at = pointerTo('', name.slice(0, 150));
    if (name === 'payload' && isObject(value)) checkWanted(value, at, 1);
    else if (name === 'payload') add(at, 'wrong_type', 'must be an object');
    else if ((fieldNames as readonly string[]).includes(name)) checkList(value, at, checkCondition);
    else add(at, 'unknown_field', `is not a known field; known fields: ${fieldNames.join(', ')}, payload`);
  }
  if (conditions > filterLimits.conditions)
    add('', 'too_many_items', `must have at most ${filterLimits.conditions} conditions`);
  return faults;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns whether an event passes a filter. PostgreSQL decides the same with `filterPath`. */
export function passesFilter(filter: Filter, event: Omit<StoredEvent, 'id' | 'created_at'>): boolean {
  const { payload, ...wanted } = filter;
  const text = (value: string | null) => (value === null ? null : `s${value}`);
  const fields = Object.fromEntries(fieldNames.map((name) => [name, text(event[name])]));
  return matches(wanted as Wanted, fields) && (!payload || matches(payload, parseExact(event.payload)));
}

/** Returns whether a value has everything that is wanted. A value that is no object has no keys. */
function matches(wanted: Wanted, value: ExactJson | undefined): boolean {
  const object = isObject(value) ? (value as Readonly<Record<string, ExactJson>>) : {};
  return Object.entries(wanted).every(([key, inner]) => {
    const has = Object.hasOwn(object, key);
    const elements = has ? elementsOf(object[key]!) : [];
    if (!isConditions(inner)) {
      return has ? elements.some((element) => matches(inner, element)) : matches(inner, undefined);
    }
    return inner.some((condition) =>
      isExists(condition) ? condition.exists === has : elements.some((element) => meets(condition, element)),
    );
  });
}

function elementsOf(value: ExactJson): readonly ExactJson[] {
  const elements = Array.isArray(value) ? (value.flat(arrayLevels - 1) as ExactJson[]) : [value];
  return elements.filter((element) => !Array.isArray(element));
}

function meets(condition: Exclude<Condition, { exists: boolean }>, value: ExactJson): boolean {
  if (typeof condition !== 'object' || condition === null) return equals(condition, value);
  if ('prefix' in condition) return typeof value === 'string' && value.startsWith(`s${condition.prefix}`);
  if ('not' in condition) return !condition.not.some((scalar) => equals(scalar, value));
  if (typeof value !== 'string' || !value.startsWith('n')) return false;
  return boundsOf(condition).every(([bound, limit]) =>
    bounds[bound][1](compareNumbers(value.slice(1), String(limit))),
  );
}

function equals(scalar: Scalar, value: ExactJson): boolean {
  if (typeof scalar === 'string') return value === `s${scalar}`;
  if (typeof scalar !== 'number') return value === scalar;
  return (
    typeof value === 'string' && value.startsWith('n') && compareNumbers(value.slice(1), String(scalar)) === 0
  );
}

const isConditions = (wanted: Wanted | readonly Condition[]): wanted is readonly Condition[] =>
  Array.isArray(wanted);
const isExists = (condition: Condition): condition is { exists: boolean } =>
  typeof condition === 'object' && condition !== null && 'exists' in condition;
const boundsOf = (range: Range) => Object.entries(range) as [keyof typeof bounds, number][];

/**
 * Returns the filter as an SQL/JSON path. It finds something in `posthorn.filterable` of the events that pass. The path
 * is lax, so it skips what is missing. A comparison of different types is unknown, which `not` must not see.
 */
export function filterPath({ payload, ...fields }: Filter): string {
  return `$ ? (${pathOf({ ...fields, ...(payload && { payload }) } as Wanted)})`;
}

/** Returns a filter as it is stored. */
export const storedFilter = (filter: Filter | null) =>
  filter
    ? { filter: JSON.stringify(filter), filter_path: filterPath(filter) }
    : { filter: null, filter_path: null };

function pathOf(wanted: Wanted): string {
  return Object.entries(wanted)
    .map(([key, inner]) => {
      const at = `@.${JSON.stringify(key)}`;
      // `?` also unwraps one level.
      const some = (test: string) =>
        `exists(${at}${'[*]'.repeat(arrayLevels - 1)} ? (@.type() != "array" && (${test})))`;
      if (!isConditions(inner)) {
        const found = some(pathOf(inner));
        return matches(inner, undefined) ? `(${found} || !exists(${at}))` : found;
      }
      const tests = inner.filter((condition) => !isExists(condition)).map(testOf);
      const presence = inner.filter(isExists).map(({ exists }) => `${exists ? '' : '!'}exists(${at})`);
      return `(${[...presence, ...(tests.length > 0 ? [some(tests.join(' || '))] : [])].join(' || ')})`;
    })
    .join(' && ');
}

function testOf(condition: Condition): string {
  if (typeof condition !== 'object' || condition === null) return `@ == ${JSON.stringify(condition)}`;
  if ('prefix' in condition) return `@ starts with ${JSON.stringify(condition.prefix)}`;
  if (!('not' in condition)) {
    const tests = boundsOf(condition as Range).map(([bound, limit]) => `@ ${bounds[bound][0]} ${limit}`);
    return `(${tests.join(' && ')})`;
  }
  const tests = condition.not.map((scalar) =>
    scalar === null ? '@ != null' : `(@.type() != "${typeof scalar}" || @ != ${JSON.stringify(scalar)})`,
  );
  return `(${tests.join(' && ')})`;
}
