import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { breakingChanges, changeOf } from '../../src/catalogue/catalogue-change.js';

interface Schema {
  type: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
}

const leaf = fc.constantFrom('string', 'integer', 'boolean').map((type): Schema => ({ type }));
const name = fc.constantFrom('a', 'b', 'c', 'd');
const { schema } = fc.letrec<{ schema: Schema; object: Schema; list: Schema }>((tie) => ({
  schema: fc.oneof({ maxDepth: 4 }, leaf, tie('object'), tie('list')),
  object: fc
    .dictionary(name, tie('schema'), { minKeys: 1 })
    .chain((properties) =>
      fc
        .subarray(Object.keys(properties))
        .map((required): Schema => ({ type: 'object', properties: { ...properties }, required })),
    ),
  list: tie('schema').map((items): Schema => ({ type: 'array', items })),
}));
const payload = fc.dictionary(name, schema, { minKeys: 1 }).map(
  (properties): Schema => ({
    type: 'object',
    properties: { ...properties },
    required: Object.keys(properties),
  }),
);

/** Every object in the schema that has properties, with its path. */
function objectsIn(node: Schema, path = ''): { node: Schema; path: string }[] {
  const inner = Object.entries(node.properties ?? {}).flatMap(([key, each]) =>
    objectsIn(each, path === '' ? key : `${path}.${key}`),
  );
  const items = node.items ? objectsIn(node.items, `${path}[]`) : [];
  return [...(node.properties ? [{ node, path }] : []), ...inner, ...items];
}

/** One change at a random place of a copy of the schema, and the sentence that it should have. */
const changed = fc
  .record({
    before: payload,
    at: fc.nat(),
    key: fc.nat(),
    kind: fc.constantFrom('remove', 'type', 'optional'),
  })
  .map(({ before, at, key, kind }) => {
    const after: Schema = JSON.parse(JSON.stringify(before));
    const objects = objectsIn(after);
    const { node, path } = objects[at % objects.length]!;
    const keys = Object.keys(node.properties!);
    const one = keys[key % keys.length]!;
    const place = path === '' ? one : `${path}.${one}`;
    const was = node.properties![one]!.type;
    const isRequired = node.required!.includes(one);
    if (kind === 'remove') delete node.properties![one];
    if (kind === 'type') node.properties![one] = { type: 'null' };
    if (kind === 'optional') node.required = node.required!.filter((other) => other !== one);
    const sentence = {
      remove: `${place} was removed.`,
      type: `The type of ${place} changed from ${was} to null.`,
      optional: `${place} is no longer required.`,
    }[kind];
    return { before, after, expected: kind === 'optional' && !isRequired ? [] : [sentence] };
  });

describe('a breaking change', () => {
  test('at any depth, list items included, is named in one sentence', () => {
    fc.assert(
      fc.property(changed, ({ before, after, expected }) => {
        expect(breakingChanges(before, after)).toEqual(expected);
      }),
    );
  });

  test('is not a new property, a required one or another order of keys', () => {
    fc.assert(
      fc.property(payload, leaf, (before, more) => {
        const properties = Object.fromEntries(Object.entries(before.properties!).reverse());
        const after = {
          ...before,
          properties: { more, ...properties },
          required: ['more', ...before.required!],
        };
        expect(breakingChanges(before, after)).toEqual([]);
      }),
    );
  });

  test.each<[string, object, object, string[]]>([
    [
      'a value that can now be null',
      { properties: { a: { type: 'string' } } },
      { properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } } },
      ['The type of a changed from string to null or string.'],
    ],
    [
      'a property behind a reference',
      { properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { type: 'object', properties: { c: {} } } } },
      { properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { type: 'object' } } },
      ['a.c was removed.'],
    ],
    [
      'a property in a list of nullable objects',
      {
        properties: { a: { type: 'array', items: { anyOf: [{ properties: { b: {} } }, { type: 'null' }] } } },
      },
      { properties: { a: { type: 'array', items: { anyOf: [{ properties: {} }, { type: 'null' }] } } } },
      ['a[].b was removed.'],
    ],
    [
      'a recursive schema',
      { properties: { a: { $ref: '#' }, b: { type: 'string' } } },
      { properties: { a: { $ref: '#' } } },
      ['a.b was removed.', 'b was removed.'],
    ],
  ])('is found for %s', (_what, before, after, expected) => {
    expect(breakingChanges(before, after)).toEqual(expected);
  });
});

test('the version of a type increases exactly when its schema changes, or when it comes back', () => {
  fc.assert(
    fc.property(
      payload,
      payload,
      fc.boolean(),
      fc.integer({ min: 1, max: 99 }),
      (before, after, in_use, version) => {
        const one = { type: 'a.b', description: 'A.', sample: {} };
        const stored = { ...one, schema: before as never, version, in_use };
        const [wanted] = changeOf([stored], [{ ...one, schema: after as never }]).types;
        const isSame =
          breakingChanges(before, after).length === 0 && breakingChanges(after, before).length === 0;
        if (!in_use) expect(wanted?.version).toBe(version + 1);
        else if (!isSame) expect(wanted?.version).toBe(version + 1);
        const [kept] = changeOf([{ ...stored, in_use: true }], [{ ...one, schema: before as never }]).types;
        expect(kept?.version).toBe(version);
      },
    ),
  );
});
