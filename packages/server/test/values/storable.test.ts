import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hidesUnstorable, unstorableFaults } from '../../src/values/storable.js';

/** Any text there can be in JSON: halves of surrogate pairs, NULs, backslashes and quotes among it. */
const unit = fc.oneof(
  fc.constantFrom(0, 0x22, 0x5c, 0x75, 0x61, 0x20ac, 0xd800, 0xd834, 0xdbff, 0xdc00, 0xdd1e, 0xdfff),
  fc.nat(0xffff),
);
const text = fc.array(unit, { maxLength: 8 }).map((units) => String.fromCharCode(...units));
const spelled = (value: string) =>
  `"${Array.from({ length: value.length }, (_, at) => {
    const code = value.charCodeAt(at);
    if (code === 0x22 || code === 0x5c) return `\\${value[at]}`;
    return code >= 0x20 && code < 0x7f ? value[at] : `\\u${code.toString(16).padStart(4, '0')}`;
  }).join('')}"`;

describe('characters that cannot be stored', () => {
  test('are found in the escapes of a text and in the text itself', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), (texts) => {
        const json = `[${texts.map(spelled).join(',')}]`;
        expect(JSON.parse(json)).toEqual(texts);
        expect(hidesUnstorable(json)).toBe(unstorableFaults(texts).length > 0);
      }),
      { numRuns: 2_000 },
    );
  });

  test('are found if a second value of the same key hides them', () => {
    expect(hidesUnstorable('{"a":"\\u0000","a":1}')).toBe(true);
    expect(hidesUnstorable('{"a":"\\\\u0000","b":"\\ud834\\udd1e"}')).toBe(false);
  });
});
