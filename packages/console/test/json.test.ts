import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapedName, jsonSlice, lineOf, prettyJson } from '../src/code/json.js';

const shown = (text: string) =>
  prettyJson(text)
    ?.map((piece) => piece.text)
    .join('');

describe('JSON that is laid out', () => {
  it('means the same as before', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(shown(text) ?? '')).toEqual(JSON.parse(text));
      }),
    );
  });

  it('keeps numbers, escapes and the order of keys as they were sent', () => {
    const text = '{"z":12345678901234567890,"a":1.50,"e":"\\u00e9","n":{"x":1e400}}';
    expect(shown(text)?.replaceAll(/\s/g, '')).toBe(text);
  });

  it('starts the same if only its start is read', () => {
    const plain = (text: string | undefined) => text?.replaceAll(/\s/g, '');
    fc.assert(
      fc.property(fc.json(), fc.nat({ max: 60 }), (text, max) => {
        const end = Math.min(max, text.length);
        const start = prettyJson(text, end)?.map((piece) => piece.text);
        expect(plain(start?.join(''))).toBe(plain(text.slice(0, end)));
      }),
    );
  });

  it('can contain a string of any length', () => {
    const text = JSON.stringify('a"\\'.repeat(3_000_000));
    expect(shown(text) === text).toBe(true);
  });

  it('is left alone if it is not JSON', () => {
    expect(prettyJson('not {json')).toBeUndefined();
  });
});

describe('a slice of JSON', () => {
  it('is the exact text of the value at a path', () => {
    const text = '{ "meta":{"payload":0}, "data" :{"a":[{"payload":1}],"payload": {"n": 1.0} ,"z":2}}';
    expect(jsonSlice(text, ['data', 'payload'])).toBe('{"n": 1.0}');
    expect(jsonSlice(text, ['data', 'missing'])).toBeUndefined();
  });

  it('is found among keys and values of every kind', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (others, value) => {
        const text = JSON.stringify({ ...others, data: { ...others, payload: value } });
        expect(JSON.parse(jsonSlice(text, ['data', 'payload']) ?? '')).toEqual(
          JSON.parse(JSON.stringify(value)),
        );
      }),
    );
  });
});

describe('the line of a JSON Pointer', () => {
  it('is that of the value, among keys and values of every kind', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.string(),
        fc.jsonValue(),
        (others, name, value) => {
          const text = JSON.stringify({ others, [name]: [value, { '': 'found here' }] }, null, 2);
          const line = text.split('\n').findIndex((one) => one.includes('"found here"')) + 1;
          expect(lineOf(text, `/${escapedName(name)}/1/`)).toBe(line);
          expect(lineOf(text, `/${escapedName(name)}/2`)).toBeUndefined();
        },
      ),
    );
  });
});
