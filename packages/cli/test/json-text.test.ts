import fc from 'fast-check';
import { expect, test } from 'vitest';
import { childrenOf, JsonTexts, memberOf } from '../src/json-text.js';

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
