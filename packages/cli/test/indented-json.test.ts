import fc from 'fast-check';
import { expect, test } from 'vitest';
import { indentedJson } from '../src/json-text.js';

test('any JSON is indented as by JSON.stringify, however it was written', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 1, '\t'), (json, space) => {
      const value = JSON.parse(json);
      expect(indentedJson(JSON.stringify(value, null, space))).toBe(JSON.stringify(value, null, 2));
    }),
    { numRuns: 500 },
  );
});

test('numbers, escapes and duplicate keys stay unchanged', () => {
  expect(indentedJson('{"n":[1e400,1.10,12345678901234567890],"s":"\\u00e9\\"{,}","n":null}')).toBe(
    `{
  "n": [
    1e400,
    1.10,
    12345678901234567890
  ],
  "s": "\\u00e9\\"{,}",
  "n": null
}`,
  );
});

test('a string with millions of escapes is indented', () => {
  const text = JSON.stringify('"\\'.repeat(1_750_000));
  expect(indentedJson(`[${text}]`) === `[\n  ${text}\n]`).toBe(true);
});
