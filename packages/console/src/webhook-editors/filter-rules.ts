import { laidOut } from '../code/json';
import { t } from '../text/language';

export type Scalar = string | number | boolean | null;
export type Filter = Record<string, unknown>;
export type Kind = 'string' | 'number' | 'boolean' | 'null';

/** What the conditions of a filter are called, and the JSON type that they need. Rare ones are not offered. */
export const operators = {
  is: { name: t`is` },
  not: { name: t`is not` },
  prefix: { name: t`starts with`, only: 'string' },
  gte: { name: t`is at least`, only: 'number' },
  gt: { name: t`is more than`, only: 'number' },
  lte: { name: t`is at most`, only: 'number' },
  lt: { name: t`is less than`, only: 'number' },
  'gte lte': { name: t`is between`, only: 'number' },
  'gte lt': { name: t`is at least, and less than`, isRare: true },
  'gt lte': { name: t`is more than, and at most`, isRare: true },
  'gt lt': { name: t`is more than, and less than`, isRare: true },
  exists: { name: t`exists` },
  missing: { name: t`does not exist` },
} satisfies Record<string, { name: string; only?: Kind; isRare?: boolean }>;
export type Operator = keyof typeof operators;

export interface Test {
  operator: Operator;
  /** With bounds, one for each: an empty text if it is not known yet. */
  values: Scalar[];
}

/** What one field must be. One of the tests must pass. */
export interface Condition {
  /** Identifies the row in the editor. */
  key: number;
  /** The keys of the filter that lead to it, such as `payload`, `currency`. */
  path: readonly string[];
  tests: Test[];
}

export const boundsOf = (operator: Operator) => operator.match(/\b[gl]te?\b/g) ?? [];
export const takesValues = (operator: Operator) => /^(is|not|prefix)$/.test(operator);

let lastKey = 0;
export function newCondition(path: readonly string[], tests: Test[]): Condition {
  lastKey += 1;
  return { key: lastKey, path, tests };
}

const eventFields = ['workspace_id', 'subject_type', 'subject_id', 'actor_type', 'actor_id'];

/** Returns the path that a text such as `payload.currency` means. Without a known start, it is about the payload. */
export function pathOf(text: string): string[] {
  if (text.trim() === '') return [];
  if (eventFields.includes(text.trim())) return [text.trim()];
  const names = text.trim().split('.');
  return names[0] === 'payload' ? names : ['payload', ...names];
}

/** Returns the path of a filter to a value of an event, or undefined if filters cannot be about it. */
export function pathToValue(path: readonly (string | number)[]): string[] | undefined {
  // An element of an array matches like the array.
  const names = path.filter((name) => typeof name === 'string');
  if (names[0] === 'payload') return names.length > 1 ? names : undefined;
  const name = names.join('_');
  return eventFields.includes(name) ? [name] : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isScalar = (value: unknown): value is Scalar => typeof value !== 'object' || value === null;

/** Returns the conditions of a filter as JSON text, or undefined if it has something that they cannot express. */
export function conditionsOf(text: string): Condition[] | undefined {
  if (text.trim() === '') return [];
  const filter = parsed(text);
  return isObject(filter) ? conditionsIn(filter, []) : undefined;
}

function conditionsIn(wanted: Record<string, unknown>, path: string[]): Condition[] | undefined {
  const all: Condition[] = [];
  for (const [name, inner] of Object.entries(wanted)) {
    const at = [...path, name];
    if (isObject(inner) && at[0] === 'payload') {
      const nested = conditionsIn(inner, at);
      if (!nested) return undefined;
      all.push(...nested);
    } else {
      const tests = Array.isArray(inner) ? testsOf(inner) : undefined;
      if (!tests) return undefined;
      all.push(newCondition(at, tests));
    }
  }
  return all;
}

function testsOf(list: readonly unknown[]): Test[] | undefined {
  const tests: Test[] = [];
  for (const one of list) {
    const test = testOf(one);
    if (!test) return undefined;
    const same =
      /^(is|prefix)$/.test(test.operator) && tests.find(({ operator }) => operator === test.operator);
    if (same) same.values.push(...test.values);
    else tests.push(test);
  }
  return tests;
}

function testOf(one: unknown): Test | undefined {
  if (isScalar(one)) return { operator: 'is', values: [one] };
  if (!isObject(one)) return undefined;
  const [[name, value] = [], ...more] = Object.entries(one);
  if (name === 'exists' && more.length === 0) return { operator: value ? 'exists' : 'missing', values: [] };
  if (name === 'prefix' && more.length === 0 && typeof value === 'string')
    return { operator: 'prefix', values: [value] };
  if (name === 'not' && more.length === 0)
    return Array.isArray(value) && value.every(isScalar)
      ? { operator: 'not', values: [...value] }
      : undefined;
  const bounds = ['gte', 'gt', 'lte', 'lt'].filter((bound) => typeof one[bound] === 'number');
  const operator = bounds.join(' ');
  if (bounds.length !== more.length + 1 || !(operator in operators)) return undefined;
  return { operator: operator as Operator, values: bounds.map((bound) => one[bound] as number) };
}

/** Returns the conditions as the JSON text of a filter, without those that are not complete. Empty if there is none. */
export function filterTextOf(conditions: readonly Condition[]): string {
  type Tree = Map<string, Tree | unknown[]>;
  const root: Tree = new Map();
  for (const condition of conditions) {
    if (!isComplete(condition) || clashOf(condition, conditions)) continue;
    let tree = root;
    for (const name of condition.path.slice(0, -1)) {
      if (!tree.has(name)) tree.set(name, new Map());
      tree = tree.get(name) as Tree;
    }
    tree.set(condition.path.at(-1)!, condition.tests.flatMap(jsonOf));
  }
  const objectOf = (tree: Tree): Filter =>
    Object.fromEntries(
      [...tree].map(([name, inner]) => [name, inner instanceof Map ? objectOf(inner) : inner]),
    );
  return root.size === 0 ? '' : laidOut(objectOf(root));
}

/** Returns the conditions with one more value that a field may have. */
export function withValue(all: readonly Condition[], path: readonly string[], value: Scalar): Condition[] {
  const name = path.join('.');
  const same = all.find((one) => one.path.join('.') === name);
  if (!same) return [...all, newCondition(path, [{ operator: 'is', values: [value] }])];
  const isTest = same.tests.some(({ operator }) => operator === 'is');
  const tests = isTest ? same.tests : [...same.tests, { operator: 'is' as const, values: [] }];
  const added = tests.map((test) =>
    test.operator === 'is' && !test.values.includes(value)
      ? { ...test, values: [...test.values, value] }
      : test,
  );
  return all.map((one) => (one === same ? { ...same, tests: added } : one));
}

export function isComplete({ path, tests }: Condition): boolean {
  return path.length > 0 && tests.every((test) => jsonOf(test).length > 0);
}

/** Returns an earlier condition of the same field, or of a part of it, which a filter cannot have beside this one. */
export function clashOf(condition: Condition, all: readonly Condition[]): Condition | undefined {
  const starts = (one: Condition, other: Condition) =>
    one.path.length > 0 && one.path.every((name, index) => other.path[index] === name);
  return all
    .slice(0, all.indexOf(condition))
    .find((other) => starts(other, condition) || starts(condition, other));
}

function jsonOf({ operator, values }: Test): unknown[] {
  if (operator === 'is') return values;
  if (operator === 'not') return values.length > 0 ? [{ not: values }] : [];
  if (operator === 'prefix') return values.map((prefix) => ({ prefix }));
  const bounds = boundsOf(operator);
  if (bounds.length === 0) return [{ exists: operator === 'exists' }];
  if (bounds.some((_, index) => typeof values[index] !== 'number')) return [];
  return [Object.fromEntries(bounds.map((bound, index) => [bound, values[index]]))];
}

/** Returns what a text that was typed for a field means: text in quotes is always text. Undefined if it cannot be. */
export function scalarOf(text: string, kinds: ReadonlySet<Kind>): Scalar | undefined {
  const value = parsed(text);
  if (kinds.size === 0) return value === undefined || !isScalar(value) ? text : value;
  if (value !== undefined && isScalar(value) && kinds.has(kindOf(value))) return value;
  return kinds.has('string') ? text : undefined;
}

export function kindOf(value: Scalar): Kind {
  return value === null ? 'null' : (typeof value as Kind);
}

/** Returns a value as text. A string that looks like another value is in quotes. */
export function shown(value: Scalar): string {
  const isPlain = typeof value === 'string' && value.trim() !== '' && parsed(value) === undefined;
  return isPlain ? value : JSON.stringify(value);
}

/** `is EUR or CHF`, `is between 5 and 10` */
export function phraseOf({ operator, values }: Test): string {
  const { name } = operators[operator];
  return [name, values.map(shown).join(takesValues(operator) ? ` ${t`or`} ` : ` ${t`and`} `)]
    .join(' ')
    .trim();
}

/** Returns what JSON text means, or undefined if it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
