import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Filter, filterFaults, filterPath, passesFilter } from '../../src/webhooks/filter.js';
import { anyCharacter } from '../support/any-character.js';
import { freshDatabase } from '../support/database.js';

const { database } = await freshDatabase();

interface Case {
  filter: Filter;
  event: Parameters<typeof passesFilter>[1];
}

/** Returns what PostgreSQL decides, all in one statement. */
async function decided(cases: readonly Case[]): Promise<boolean[]> {
  const column = (name: string) => cases.map(({ event }) => event[name as keyof Case['event']]);
  const { rows } = await database.query<{ passes: boolean }>({
    text: `
  select coalesce(posthorn.filterable(c.workspace, c.subject_type, c.subject_id, c.actor_type, c.actor_id, c.payload)
           @? c.path, false) as passes
    from unnest($1::jsonpath[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::json[])
         with ordinality as c (path, workspace, subject_type, subject_id, actor_type, actor_id, payload, place)
   order by c.place`,
    values: [
      cases.map(({ filter }) => filterPath(filter)),
      ...['workspace_id', 'subject_type', 'subject_id', 'actor_type', 'actor_id', 'payload'].map(column),
    ],
  });
  return rows.map(({ passes }) => passes);
}

const event: Case['event'] = {
  type: 'invoice.paid',
  organization_id: 'ORG-a',
  workspace_id: null,
  actor_type: 'user',
  actor_id: 'USR-1',
  subject_type: 'invoice',
  subject_id: 'INV-1',
  payload: '{}',
};

/** Values and keys are few, so that filters and payloads meet, and awkward. */
const key = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('a', 'b') },
  fc.constantFrom('', '__proto__', 'constructor', '$', '"', "it's", 'a.b', '\\', '*', '0', 'é\n'),
  {
    weight: 1,
    arbitrary: fc.string({ unit: anyCharacter, maxLength: 3 }).filter((text) => !text.includes('\0')),
  },
);
const texts = ['', 'a', 'ab', 'abc', 'A', 'é', '😀', '1', 'true', 'null', '%', '_', '"', '\\', 'n1', 's'];
const text = fc.constantFrom(...texts);
const number = fc.constantFrom(0, 1, -1, 1.5, 10, 100, 1e-7, 0.1, 123456.789, Number.MAX_SAFE_INTEGER);
const scalar = fc.oneof(text, number, fc.boolean(), fc.constant(null));
const numberText = fc.constantFrom(
  ...[
    '0',
    '-0',
    '0.0',
    '1',
    '1.0',
    '1e0',
    '10e-1',
    '0.1E1',
    '-1',
    '-1.00',
    '1.5',
    '15e-1',
    '10',
    '1E+1',
    '100',
  ],
  ...[
    '0.0000001',
    '1e-7',
    '0.1',
    '0.10000000000000001',
    '123456.789',
    '9007199254740991',
    '9007199254740992',
  ],
  ...['9007199254740991.0000000000000000001', '1e400', '-1e400', '1e-400', '12345678901234567890'],
);
const scalarText = fc.oneof(
  numberText,
  text.map((value) => JSON.stringify(value)),
  fc.constantFrom('true', 'false', 'null', '"\\u0061"'),
);
const { value: valueText } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    scalarText,
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    tie('object'),
  ),
  // A key can appear twice.
  object: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 4 })
    .map((fields) => `{${fields.map(([name, value]) => `${JSON.stringify(name)} :${value}`).join(',')}}`),
}));
const objectText = fc
  .array(fc.tuple(key, valueText), { minLength: 1, maxLength: 4 })
  .map((fields) => `{${fields.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(',')}}`);

const condition = fc.oneof(
  scalar,
  fc.record({ prefix: text }),
  fc.record({ not: fc.array(scalar, { minLength: 1, maxLength: 3 }) }),
  fc.record({ exists: fc.boolean() }),
  fc
    .uniqueArray(fc.tuple(fc.constantFrom('gt', 'gte', 'lt', 'lte'), number), {
      minLength: 1,
      maxLength: 2,
      selector: ([bound]) => bound,
    })
    .map((range) => Object.fromEntries(range)),
);
const conditions = fc.array(condition, { minLength: 1, maxLength: 3 });
const { wanted } = fc.letrec<{ wanted: object }>((tie) => ({
  wanted: fc
    .array(fc.tuple(key, fc.oneof({ maxDepth: 3 }, conditions, tie('wanted'))), {
      minLength: 1,
      maxLength: 2,
    })
    .map((fields) => Object.fromEntries(fields)),
}));
const filter = fc
  .record(
    { workspace_id: conditions, subject_id: conditions, payload: wanted },
    { requiredKeys: ['payload'] },
  )
  .filter((one) => filterFaults(one).length === 0) as fc.Arbitrary<unknown> as fc.Arbitrary<Filter>;
const anyEvent = fc
  .record({ workspace_id: fc.option(text), subject_id: text, payload: objectText })
  .map((fields) => ({ ...event, ...fields }));

describe('a filter', () => {
  test('gets the same verdict from PostgreSQL and from the function in TypeScript', async () => {
    let passed = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ filter, event: anyEvent }), { minLength: 200, maxLength: 300 }),
        async (cases) => {
          const own = cases.map((one) => passesFilter(one.filter, one.event));
          passed += own.filter(Boolean).length;
          const verdicts = await decided(cases);
          expect(cases.filter((_, index) => verdicts[index] !== own[index])).toEqual([]);
        },
      ),
      { numRuns: 15, endOnFailure: true },
    );
    expect(passed).toBeGreaterThan(200);
  });

  const table: [does: string, payload: Filter['payload'], passing: string[], others: string[]][] = [
    [
      'compares numbers by value',
      { n: [1] },
      ['1', '1.0', '10e-1'],
      ['"1"', 'true', '1.0000000000000000001', '[]'],
    ],
    ['compares JSON types exactly', { n: ['1', null] }, ['"1"', 'null'], ['1', 'false', '{}', '""']],
    ['matches one element of an array', { n: [2] }, ['[1,2]', '[[1],[[[2]]]]'], ['[1,3]', '[{"n":2}]', '[]']],
    ['matches prefixes as they are', { n: [{ prefix: '%_"' }] }, ['"%_\\"x"'], ['"ab\\"x"', '1', 'null']],
    [
      'takes not as present and equal to none',
      { n: [{ not: [1, 'a'] }] },
      ['2', '"b"', 'null', '{}', '[1,2]'],
      ['1.0', '"a"', '[1]', '[]'],
    ],
    ['compares ranges', { n: [{ gte: 1, lt: 2 }] }, ['1', '1.999', '[0,1.5]'], ['2', '0.9', '"1"', '[0,3]']],
    ['sees whether a key exists', { n: [{ exists: true }] }, ['null', '[]', '{}'], []],
    [
      'wants all keys from the same element',
      { n: { a: [1], b: [2] } },
      ['{"a":1,"b":2}', '[{"a":1,"b":2}]'],
      ['[{"a":1},{"b":2}]', '1'],
    ],
    [
      'finds no keys in what is no object',
      { n: { a: [{ exists: false }] } },
      ['1', 'null', '{}', '[{"a":1},{}]'],
      ['[]', '{"a":null}'],
    ],
  ];
  test.each(table)('%s', async (_does, payload, passing, others) => {
    const cases = [...passing, ...others].map(
      (n) => ({ filter: { payload }, event: { ...event, payload: `{"n":${n}}` } }) as Case,
    );
    const verdicts = [...passing.map(() => true), ...others.map(() => false)];
    expect(cases.map((one) => passesFilter(one.filter, one.event))).toEqual(verdicts);
    expect(await decided(cases)).toEqual(verdicts);
  });

  test('finds nothing in an event with a number that PostgreSQL cannot hold', async () => {
    const huge = { ...event, payload: '{"a":1,"n":1e200000}' };
    expect(await decided([{ filter: { payload: { a: [1] } }, event: huge }])).toEqual([false]);
  });
});
