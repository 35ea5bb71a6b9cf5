import fc from 'fast-check';
import { expect, test } from 'vitest';
import { childrenOf, JsonTexts, memberOf, withValue } from '../src/json-text.js';

test('the parts of any object or array are found, however it was written', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())),
      fc.constantFrom(0, 1, '\t'),
      (value, space) => {
        const text = JSON.stringify(value, null, space);
        const written = JSON.parse(text);
        const found = childrenOf(text).map((child) => [child.name, JSON.parse(child.text)]);
        const names = Array.isArray(written) ? written.map(() => undefined) : Object.keys(written);
        expect(found).toEqual(names.map((name, index) => [name, Object.values(written)[index]]));
      },
    ),
    { numRuns: 500 },
  );
});

test('numbers and spaces of a payload stay as they are', () => {
  const payload = '{ "a":1.10,"b": [1e400, 12345678901234567890]}';
  const texts = new JsonTexts();
  const { data } = texts.parse(`{"data":[{"id":"EVT-1","payload":${payload}}],"meta":{}}`) as {
    data: { payload: object }[];
  };
  expect(texts.payloadOf(data[0]!)).toBe(payload);
  expect(memberOf(`{"a":{"data":1},"data" : 2 }`, 'data')).toBe('2');
});

test('a payload can contain a string with millions of escapes', () => {
  const payload = JSON.stringify({ text: '"'.repeat(3_500_000) });
  const texts = new JsonTexts();
  const event = texts.parse(`{"payload":${payload}}`) as { payload: object };
  expect(texts.payloadOf(event) === payload).toBe(true);
});

test('results inside other objects and arrays keep their text', () => {
  const texts = new JsonTexts();
  const { data } = texts.parse('{"data":[{"n":1.10},{"n":\n1e400}]}') as { data: object[] };
  expect(texts.of({ first: data[0], all: data, none: undefined, text: 'a"b' })).toBe(
    '{"first":{"n":1.10},"all":[{"n":1.10},{"n": 1e400}],"text":"a\\"b"}',
  );
});

test.each([
  ['a', '{"a":7,"b":[1.10,{}]}'],
  ['c', '{"a":1e400,"b":[1.10,{}],"c":7}'],
  ['a.b.c', '{"a":{"b":{"c":7}},"b":[1.10,{}]}'],
  ['b.0', '{"a":1e400,"b":[7,{}]}'],
  ['b.1.x', '{"a":1e400,"b":[1.10,{"x":7}]}'],
  ['b.2', '{"a":1e400,"b":[1.10,{},7]}'],
  ['b.3', undefined],
  ['b.x', undefined],
])('the value at %s is replaced, and nothing else changes', (path, expected) => {
  expect(withValue('{ "a":1e400, "b": [1.10,{}] }', path.split('.'), '7')).toBe(expected);
});
