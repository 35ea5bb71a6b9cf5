import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCatalogue } from '../../src/catalogue/catalogue.js';
import { createPayloadValidator } from '../../src/catalogue/payload.js';
import { faultsFromAjv } from '../../src/values/fault.js';
import { catalogue } from '../support/catalogue.js';

const validate = createPayloadValidator(catalogue);
const types = catalogue.list();
const completed = { service_line_id: 'LIN-1', duration_ms: 1, tokens_used: 2, outcome: 'success' };

function fieldsOf(schema: object): string[] {
  return Object.keys((schema as { properties: object }).properties);
}

describe('a payload', () => {
  test.each(types.map((entry) => [entry.type, entry] as const))('can be the sample of %s', (type, entry) => {
    expect(validate(type, entry.sample)).toEqual([]);
  });

  test('can have fields that the schema does not name', () => {
    expect(validate('agent.run.completed', { ...completed, run_id: 'RUN-1', nested: { a: [1] } })).toEqual(
      [],
    );
  });

  test('can be empty if its fields are not fixed', () => {
    expect(validate('invoice.paid', {})).toEqual([]);
    expect(validate('capacity.gap_detected', { anything: null })).toEqual([]);
  });

  test('reports all its faults at once, each at its location', () => {
    expect(validate('agent.run.completed', { duration_ms: '12', tokens_used: -1, outcome: null })).toEqual([
      { pointer: '/service_line_id', code: 'required', detail: 'is required' },
      { pointer: '/duration_ms', code: 'wrong_type', detail: 'must be an integer, got a string' },
      { pointer: '/tokens_used', code: 'too_small', detail: 'must be at least 0' },
      { pointer: '/outcome', code: 'wrong_type', detail: 'must be a string, got null' },
    ]);
  });

  test('is refused if a severity is not p and one digit', () => {
    const { sample } = catalogue.get('incident.opened')!;
    for (const severity of ['p10', 'P1', 'high', 'p1\n', '']) {
      expect(validate('incident.opened', { ...sample, severity })).toEqual([
        { pointer: '/severity', code: 'pattern_mismatch', detail: 'must be one of p0 to p9' },
      ]);
    }
  });

  test('has its fields checked even if none is required', () => {
    expect(validate('invoice.paid', { amount_minor: 12.5, paid_at: 'yesterday' })).toEqual([
      {
        pointer: '/amount_minor',
        code: 'wrong_type',
        detail: 'must be an integer, got a number with a fraction',
      },
      expect.objectContaining({ pointer: '/paid_at', code: 'invalid_format' }),
    ]);
  });

  test('gets one fault for a field that may be null', () => {
    const { sample } = catalogue.get('webhook.delivery_failed')!;
    const faults = (http_status: unknown) => validate('webhook.delivery_failed', { ...sample, http_status });
    expect(faults(null)).toEqual([]);
    expect(faults('503')).toEqual([
      { pointer: '/http_status', code: 'wrong_type', detail: 'must be an integer or null, got a string' },
    ]);
    expect(faults(-1)).toEqual([
      { pointer: '/http_status', code: 'too_small', detail: 'must be at least 0' },
    ]);
  });

  test('is an object', () => {
    for (const [payload, kind] of [
      [null, 'null'],
      [[], 'an array'],
      ['{}', 'a string'],
      [undefined, 'nothing'],
    ]) {
      expect(validate('invoice.paid', payload)).toEqual([
        { pointer: '', code: 'wrong_type', detail: `must be an object, got ${kind}` },
      ]);
    }
  });

  test('of an unknown type is a fault, not an exception', () => {
    expect(validate('invoice.created', {})).toMatchObject([{ pointer: '', code: 'unknown_event_type' }]);
    expect(validate('__proto__', {})).toMatchObject([{ code: 'unknown_event_type' }]);
  });

  test('never makes the validator throw, and every fault has a location and a text', () => {
    const anyPayload = fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()));
    fc.assert(
      fc.property(fc.constantFrom(...types), anyPayload, fc.jsonValue(), (entry, payload, stray) => {
        const named = Object.fromEntries(fieldsOf(entry.schema).map((field) => [field, stray]));
        for (const candidate of [payload, named, { ...entry.sample, ...named }]) {
          for (const fault of validate(entry.type, candidate)) {
            expect(fault.pointer).toMatch(/^(\/([^~/]|~[01])*)*$/);
            expect(fault.code).toMatch(/^[a-z_]+$/);
            expect(fault.detail).toMatch(/\S/);
          }
        }
      }),
    );
  });

  test('is accepted if its fields are, whatever else it has', () => {
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.dictionary(fc.string(), fc.jsonValue()), (entry, extra) => {
        expect(validate(entry.type, { ...extra, ...entry.sample })).toEqual([]);
      }),
    );
  });
});

describe('the schemas', () => {
  test("satisfy all of Ajv's strict rules", () => {
    const strict = new Ajv2020({ strict: true });
    addFormats.default(strict);
    for (const { schema } of types) strict.compile(schema);
  });

  test('of added types must use the same keywords', () => {
    const typo = { type: 'order.shipped', description: 'Ours.', schema: { requird: ['id'] }, sample: {} };
    const extended = createPayloadValidator(createCatalogue([typo]));
    expect(() => extended('order.shipped', {})).toThrow(
      /^the schema of order\.shipped is not valid: .*requird/,
    );
  });

  test('of added types can contain the annotations of OpenAPI', () => {
    const id = { type: 'string', example: 'ORD-1', 'x-label': { $ref: 'order number' } };
    const schema = { 'x-owner': 'sales', properties: { id, 'x-größe': { type: 'integer' } } };
    const annotated = { type: 'order.shipped', description: 'Ours.', schema, sample: {} };
    const extended = createPayloadValidator(createCatalogue([annotated]));
    expect(extended('order.shipped', { id: 'ORD-1', 'x-größe': 1 })).toEqual([]);
    expect(extended('order.shipped', { id: 1, 'x-größe': 'L' })).toMatchObject([
      { pointer: '/id', code: 'wrong_type' },
      { pointer: '/x-größe', code: 'wrong_type' },
    ]);
  });

  test('of added types need not say that a payload is an object', () => {
    const loose = { type: 'order.shipped', description: 'Ours.', schema: {}, sample: {} };
    const extended = createPayloadValidator(createCatalogue([loose]));
    expect(extended('order.shipped', { id: 1 })).toEqual([]);
    expect(extended('order.shipped', 1)).toMatchObject([{ code: 'wrong_type' }]);
  });
});

describe('a fault', () => {
  // Shared, because the first schema of an Ajv takes 20 ms: it compiles the schema of schemas.
  const ajvOf = (verbose: boolean) =>
    addFormats.default(new Ajv2020({ allErrors: true, strict: false, strictNumbers: true, verbose }));
  const [terse, verbose] = [ajvOf(false), ajvOf(true)];

  function faults(schema: object, value: unknown, ajv = terse) {
    const check = ajv.compile(schema);
    return check(value) ? [] : faultsFromAjv(check.errors, value);
  }

  test.each<[string, object, unknown, string, string, string]>([
    ['required', { required: ['a/b'] }, {}, '/a~1b', 'required', 'is required'],
    [
      'dependentRequired',
      { dependentRequired: { a: ['b'] } },
      { a: 1 },
      '/b',
      'required',
      'is required when a is given',
    ],
    [
      'additionalProperties',
      { additionalProperties: false },
      { 'a~b': 1 },
      '/a~0b',
      'unknown_field',
      'is not a known field',
    ],
    [
      'unevaluatedProperties',
      { unevaluatedProperties: false },
      { a: 1 },
      '/a',
      'unknown_field',
      'is not a known field',
    ],
    [
      'propertyNames',
      { propertyNames: { maxLength: 1 } },
      { ab: 1 },
      '/ab',
      'invalid_name',
      'is not a valid field name',
    ],
    ['type', { type: ['string', 'null'] }, true, '', 'wrong_type', 'must be a string or null, got a boolean'],
    [
      'type of a huge number',
      { type: 'integer' },
      JSON.parse('1e400'),
      '',
      'wrong_type',
      'must be an integer, got a number out of range',
    ],
    ['enum', { enum: ['asc', 'desc', null] }, 'up', '', 'not_one_of', 'must be one of "asc", "desc", null'],
    [
      'enum beside type',
      { type: 'string', enum: ['asc', 'desc'] },
      1,
      '',
      'not_one_of',
      'must be "asc" or "desc"',
    ],
    ['const', { const: '*' }, 1, '', 'not_one_of', 'must be "*"'],
    ['minimum', { minimum: 1 }, 0, '', 'too_small', 'must be at least 1'],
    ['exclusiveMinimum', { exclusiveMinimum: 1 }, 1, '', 'too_small', 'must be greater than 1'],
    ['maximum', { maximum: 100 }, 101, '', 'too_large', 'must be at most 100'],
    ['exclusiveMaximum', { exclusiveMaximum: 1 }, 1, '', 'too_large', 'must be less than 1'],
    ['multipleOf', { multipleOf: 5 }, 7, '', 'not_a_multiple', 'must be a multiple of 5'],
    ['minLength', { minLength: 1 }, '', '', 'too_short', 'must have at least 1 character'],
    ['maxLength', { maxLength: 2 }, 'abc', '', 'too_long', 'must have at most 2 characters'],
    ['pattern', { pattern: '^a' }, 'b', '', 'pattern_mismatch', 'must match the pattern ^a'],
    ['format', { format: 'uri' }, 'b', '', 'invalid_format', 'must be an absolute URI'],
    ['format without words', { format: 'ipv4' }, 'b', '', 'invalid_format', 'must be a valid ipv4'],
    ['minItems', { minItems: 1 }, [], '', 'too_few_items', 'must have at least 1 item'],
    ['maxItems', { maxItems: 1 }, [1, 2], '', 'too_many_items', 'must have at most 1 item'],
    ['items', { prefixItems: [{}], items: false }, [1, 2], '', 'too_many_items', 'must have at most 1 item'],
    [
      'uniqueItems',
      { uniqueItems: true },
      [1, 2, 1],
      '',
      'duplicate_items',
      'must not contain duplicates: items 0 and 2 are the same',
    ],
    [
      'contains',
      { contains: { type: 'null' } },
      [1, 2],
      '',
      'wrong_item_count',
      'must have at least 1 matching item',
    ],
    ['minProperties', { minProperties: 1 }, {}, '', 'too_few_fields', 'must have at least 1 field'],
    ['maxProperties', { maxProperties: 0 }, { a: 1 }, '', 'too_many_fields', 'must have at most 0 fields'],
    ['not', { not: {} }, 1, '', 'not_allowed', 'is not allowed'],
    ['false schema', { properties: { a: false } }, { a: 1 }, '/a', 'not_allowed', 'is not allowed'],
    [
      'if and else',
      { if: { required: ['b'] }, else: { required: ['a'] } },
      {},
      '/a',
      'required',
      'is required',
    ],
    [
      'oneOf twice',
      { oneOf: [{}, {}] },
      1,
      '',
      'ambiguous',
      'must match exactly one of the accepted forms, but matches several',
    ],
  ])('of %s says where and what is accepted', (_, schema, value, pointer, code, detail) => {
    expect(faults(schema, value)).toEqual([{ pointer, code, detail }]);
  });

  const eventTypes = {
    anyOf: [{ const: '*' }, { type: 'array', minItems: 1, items: { type: 'string' } }],
  };

  test('of alternatives names them all if the value has none of the accepted types', () => {
    expect(faults(eventTypes, 5)).toEqual([
      { pointer: '', code: 'wrong_type', detail: 'must be "*" or an array, got an integer' },
    ]);
  });

  test('of alternatives is that of the alternative that was meant', () => {
    expect(faults(eventTypes, [])).toMatchObject([{ pointer: '', code: 'too_few_items' }]);
    expect(faults(eventTypes, ['a', 1])).toMatchObject([{ pointer: '/1', code: 'wrong_type' }]);
    const shapes = {
      anyOf: [
        { type: 'object', properties: { kind: { const: 'a' } }, required: ['kind', 'x', 'y'] },
        { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind', 'z'] },
      ],
    };
    expect(faults(shapes, { kind: 'b' })).toEqual([
      { pointer: '/z', code: 'required', detail: 'is required' },
    ]);
  });

  test('of literal alternatives lists the literals', () => {
    const literals = { anyOf: ['a', 'b', 'c'].map((each) => ({ type: 'string', const: each })) };
    const expected = [{ pointer: '', code: 'not_one_of', detail: 'must be one of "a", "b", "c"' }];
    expect(faults(literals, 'd')).toEqual(expected);
    expect(faults(literals, 4)).toEqual(expected);
  });

  test('of alternatives inside alternatives, and of each item of an array, stays apart', () => {
    const inner = { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }] };
    const schema = { anyOf: [{ type: 'string' }, { type: 'array', items: inner }] };
    const items = [1, 'x', null, -1, ...Array(7).fill(0), true];
    expect(faults(schema, items)).toEqual([
      { pointer: '/1', code: 'wrong_type', detail: 'must be an integer or null, got a string' },
      { pointer: '/3', code: 'too_small', detail: 'must be at least 0' },
      { pointer: '/11', code: 'wrong_type', detail: 'must be an integer or null, got a boolean' },
    ]);
  });

  test('of an unknown field lists the known ones if Ajv is verbose', () => {
    const schema = { properties: { from: {}, to: {} }, additionalProperties: false };
    expect(faults(schema, { form: 1 }, verbose)).toEqual([
      { pointer: '/form', code: 'unknown_field', detail: 'is not a known field; known fields: from, to' },
    ]);
  });

  test('handles fields whose names need escaping', () => {
    const schema = { properties: { 'a/b~c': { type: 'string' } } };
    expect(faults(schema, { 'a/b~c': 1 })).toEqual([
      { pointer: '/a~1b~0c', code: 'wrong_type', detail: 'must be a string, got an integer' },
    ]);
  });

  test('never contains the value', () => {
    const secret = 'hunter2';
    const schema = {
      properties: { secret: { type: 'string', minLength: 16, pattern: '^w', format: 'uuid' } },
    };
    expect(JSON.stringify(faults(schema, { secret }))).not.toContain(secret);
  });

  test('does not exist without an error', () => {
    expect(faultsFromAjv(null, {})).toEqual([]);
    expect(faultsFromAjv(undefined, {})).toEqual([]);
  });
});
