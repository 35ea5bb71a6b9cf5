import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  clashOf,
  conditionsOf,
  filterTextOf,
  newCondition,
  pathOf,
  pathToValue,
  phraseOf,
  scalarOf,
  shown,
  withValue,
} from '../src/webhook-editors/filter-rules.js';

const scalar = fc.oneof(
  fc.constantFrom('', 'EUR', '1', 'true', 'null', '"', 'a or b'),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const number = fc.integer();
const condition = fc.oneof(
  scalar,
  fc.record({ prefix: fc.string() }),
  fc.record({ not: fc.array(scalar, { minLength: 1, maxLength: 3 }) }),
  fc.record({ exists: fc.boolean() }),
  fc.constantFrom('gt', 'gte', 'lt', 'lte').chain((bound) => fc.record({ [bound]: number })),
  fc
    .tuple(fc.constantFrom('gt', 'gte'), fc.constantFrom('lt', 'lte'))
    .chain(([lower, upper]) => fc.record({ [lower]: number, [upper]: number })),
);
const conditions = fc.array(condition, { minLength: 1, maxLength: 4 });
const name = fc.constantFrom('a', 'b', '', 'a.b', '__proto__', 'constructor', 'payload');
const { payload } = fc.letrec<{ payload: object; wanted: unknown }>((tie) => ({
  payload: fc.dictionary(name, tie('wanted'), { minKeys: 1, maxKeys: 3 }),
  wanted: fc.oneof({ maxDepth: 3, withCrossShrink: true }, conditions, tie('payload')),
}));
const filter = fc.record(
  { subject_id: conditions, actor_type: conditions, payload },
  { requiredKeys: ['payload'] },
);

/** Returns what is wanted of each field, without the order of alternatives, which means nothing. */
function wishes(wanted: unknown, path = ''): string[] {
  if (Array.isArray(wanted)) return [`${path} ${wanted.map((one) => JSON.stringify(one)).sort()}`];
  return Object.entries(wanted as object)
    .flatMap(([key, inner]) => wishes(inner, `${path}/${JSON.stringify(key)}`))
    .sort();
}

describe('the conditions of a filter', () => {
  it('mean the same as the filter, whatever it contains', () => {
    fc.assert(
      fc.property(filter, (one) => {
        const rows = conditionsOf(JSON.stringify(one));
        expect(rows).toBeDefined();
        expect(wishes(JSON.parse(filterTextOf(rows!)))).toEqual(wishes(one));
      }),
    );
  });

  it.each([
    '[]',
    '7',
    'x',
    '{"payload": {"a": 1}}',
    '{"type": {"a": ["x"]}}',
    '{"payload": {"a": [{"gt": 1, "gte": 2}]}}',
    '{"payload": {"a": [{"not": 3}]}}',
  ])('cannot express %s, which is edited as JSON', (text) => expect(conditionsOf(text)).toBeUndefined());

  it('leave out what is not complete, and what a filter cannot have twice', () => {
    const is = (...values: string[]) => [{ operator: 'is' as const, values }];
    const rows = [
      newCondition(['payload', 'a'], is('x')),
      newCondition(['payload', 'a', 'b'], is('y')),
      newCondition(['payload', 'c'], is()),
      newCondition([], is('z')),
      newCondition(['payload', 'd'], [{ operator: 'gte lte', values: [5, ''] }]),
    ];
    expect(JSON.parse(filterTextOf(rows))).toEqual({ payload: { a: ['x'] } });
    expect(clashOf(rows[1]!, rows)).toBe(rows[0]);
    expect(filterTextOf(rows.slice(2))).toBe('');
  });

  it('grow by the values that are clicked', () => {
    const path = pathToValue(['payload', 'lines', 0, 'sku'])!;
    const once = withValue([], path, 'A');
    const twice = withValue(withValue(once, path, 'B'), path, 'A');
    expect(JSON.parse(filterTextOf(twice))).toEqual({ payload: { lines: { sku: ['A', 'B'] } } });
    expect(pathToValue(['subject', 'id'])).toEqual(['subject_id']);
    expect(pathToValue(['created_at'])).toBeUndefined();
  });

  it('take a field with or without its start, and a value of the type that the field has', () => {
    expect(pathOf(' amount ')).toEqual(['payload', 'amount']);
    expect(pathOf('payload.a.b')).toEqual(['payload', 'a', 'b']);
    expect(pathOf('actor_id')).toEqual(['actor_id']);
    expect(scalarOf('12', new Set(['number']))).toBe(12);
    expect(scalarOf('12', new Set(['string']))).toBe('12');
    expect(scalarOf('"12"', new Set(['string', 'number']))).toBe('12');
    expect(scalarOf('twelve', new Set(['number']))).toBeUndefined();
    expect(scalarOf('true', new Set())).toBe(true);
  });

  it('are said in words in which text and numbers look different', () => {
    expect(['EUR', '12', 12, null, ''].map(shown)).toEqual(['EUR', '"12"', '12', 'null', '""']);
    expect(phraseOf({ operator: 'is', values: ['EUR', 'CHF'] })).toBe('is EUR or CHF');
    expect(phraseOf({ operator: 'gte lte', values: [5, 10] })).toBe('is between 5 and 10');
    expect(phraseOf({ operator: 'missing', values: [] })).toBe('does not exist');
  });
});
