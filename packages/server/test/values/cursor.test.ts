import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bindingOf, decodeCursor, encodeCursor } from '../../src/values/cursor.js';

const printable = fc.stringMatching(/^[!-~]{0,128}$/);
const position = fc.record({ atMs: fc.nat(2 ** 48 - 1), id: printable });
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

describe('a cursor', () => {
  test('decodes to the position it was made for', () => {
    fc.assert(
      fc.property(position, fc.string(), (at, binding) => {
        expect(decodeCursor(encodeCursor(at, binding), binding)).toEqual(at);
      }),
    );
  });

  test('needs no escaping in a query string', () => {
    fc.assert(
      fc.property(position, (at) => {
        const cursor = encodeCursor(at, 'b');
        expect(encodeURIComponent(cursor)).toBe(cursor);
      }),
    );
  });

  test('is refused for any other query', () => {
    fc.assert(
      fc.property(position, fc.string(), fc.string(), (at, binding, other) => {
        fc.pre(binding !== other);
        expect(decodeCursor(encodeCursor(at, binding), other)).toBeUndefined();
      }),
    );
  });

  test('is refused if any character was changed', () => {
    fc.assert(
      fc.property(
        position,
        fc.nat(),
        fc.constantFrom(...alphabet, '=', ' ', '\n', 'é', '\0'),
        (at, place, by) => {
          const cursor = encodeCursor(at, 'b');
          const index = place % cursor.length;
          fc.pre(cursor[index] !== by);
          expect(decodeCursor(cursor.slice(0, index) + by + cursor.slice(index + 1), 'b')).toBeUndefined();
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('is refused if a part is missing or something was added', () => {
    fc.assert(
      fc.property(position, fc.nat(), fc.string({ minLength: 1 }), (at, place, more) => {
        const cursor = encodeCursor(at, 'b');
        for (const mangled of [
          cursor.slice(0, place % cursor.length),
          cursor + more,
          more + cursor,
          `${cursor}=`,
        ]) {
          expect(decodeCursor(mangled, 'b')).toBeUndefined();
        }
      }),
    );
  });

  test('that was made up is refused, and no text makes decoding throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.stringMatching(/^[\w-]{20,200}$/)), (text) => {
        expect(decodeCursor(text, 'b')).toBeUndefined();
      }),
    );
  });

  test('with an id that no database can store is refused, even with the right digest', () => {
    for (const id of ['\0', 'EVT-\0', 'EVT-\u00e9', 'a b', 'a\n']) {
      expect(decodeCursor(encodeCursor({ atMs: 1, id }, 'b'), 'b')).toBeUndefined();
    }
  });

  test('of another version is refused, even with the right digest', () => {
    const body = Buffer.from([2, 0, 0, 0, 0, 0, 1]);
    const digest = createHash('sha256').update('b').update('\0').update(body).digest().subarray(0, 9);
    expect(decodeCursor(Buffer.concat([digest, body]).toString('base64url'), 'b')).toBeUndefined();
    body[0] = 1;
    const ours = createHash('sha256').update('b').update('\0').update(body).digest().subarray(0, 9);
    expect(decodeCursor(Buffer.concat([ours, body]).toString('base64url'), 'b')).toEqual({ atMs: 1, id: '' });
  });
});

describe('the binding of a cursor', () => {
  const value = fc.option(fc.oneof(fc.string(), fc.integer()), { nil: undefined });
  const filters = fc.dictionary(fc.constantFrom('type', 'from', 'to', 'order', 'actor_id'), value);
  const given = (record: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(record).filter(([, one]) => one !== undefined));

  test('does not depend on the order of filters or on absent ones', () => {
    fc.assert(
      fc.property(filters, (record) => {
        const turned = Object.fromEntries(Object.entries(given(record)).reverse()) as typeof record;
        expect(bindingOf('events', turned)).toBe(bindingOf('events', record));
      }),
    );
  });

  test('differs if any filter differs', () => {
    fc.assert(
      fc.property(filters, filters, (a, b) => {
        const same =
          JSON.stringify(Object.entries(given(a)).sort()) === JSON.stringify(Object.entries(given(b)).sort());
        expect(bindingOf('events', a) === bindingOf('events', b)).toBe(same);
      }),
    );
  });

  test('differs between lists', () => {
    expect(bindingOf('events', {})).not.toBe(bindingOf('webhooks', {}));
  });
});
