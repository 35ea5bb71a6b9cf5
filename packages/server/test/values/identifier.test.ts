import fc from 'fast-check';
import { decodeTime } from 'ulidx';
import { describe, expect, test } from 'vitest';
import { idTimeMs, newId, type Prefix } from '../../src/values/identifier.js';
import { identifierPattern, kindPattern } from '../../src/values/pattern.js';

const timeMsMax = 2 ** 48 - 1;
const time = fc.nat(timeMsMax);
const prefix = fc.constantFrom<Prefix>('EVT', 'WHK', 'WDLV', 'TOK', 'AUD', 'RPL', 'REQ');
const ulid = fc.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);

describe('an identifier', () => {
  test('has its prefix and the time it was made', () => {
    fc.assert(
      fc.property(prefix, time, (kind, ms) => {
        const id = newId(kind, ms);
        expect(id).toMatch(new RegExp(`^${kind}-[0-9A-HJKMNP-TV-Z]{26}$`));
        expect(idTimeMs(kind, id)).toBe(ms);
      }),
    );
  });

  test('of a later millisecond sorts after those of earlier ones', () => {
    fc.assert(
      fc.property(time, time, (a, b) => {
        fc.pre(a < b);
        expect(newId('EVT', a) < newId('EVT', b)).toBe(true);
      }),
    );
  });

  test('is unique', () => {
    const ids = Array.from({ length: 10_000 }, () => newId('EVT', 1_763_000_000_000));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('contains the time of its ULID', () => {
    fc.assert(
      fc.property(ulid, (text) => {
        expect(idTimeMs('EVT', `EVT-${text}`)).toBe(decodeTime(text));
      }),
    );
  });

  test('of another kind is not accepted', () => {
    fc.assert(
      fc.property(prefix, prefix, time, (kind, other, ms) => {
        fc.pre(kind !== other);
        expect(idTimeMs(other, newId(kind, ms))).toBeUndefined();
      }),
    );
  });

  test('in lower case, with letters that ULIDs lack, too short, too long or too late is not one of ours', () => {
    fc.assert(
      fc.property(
        ulid,
        fc.nat(25),
        fc.constantFrom(...'ILOU', ...'abcxyz', '-', ' ', '\n', '\0', 'é'),
        (text, at, by) => {
          const broken = text.slice(0, at) + by + text.slice(at + 1);
          for (const body of [
            broken,
            text.slice(1),
            `${text}0`,
            `8${text.slice(1)}`,
            `${text}\n`,
            ` ${text}`,
          ]) {
            expect(idTimeMs('EVT', `EVT-${body}`)).toBeUndefined();
          }
          expect(idTimeMs('EVT', text)).toBeUndefined();
        },
      ),
    );
  });

  test('can be any text: reading it never throws', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(idTimeMs('EVT', text)).toBeUndefined();
      }),
    );
  });
});

describe('the pattern of', () => {
  const cases: [string, string, string[], string[]][] = [
    [
      'an organization',
      identifierPattern.organization,
      ['ORG-1', 'ORG-a/b~!', `ORG-${'x'.repeat(120)}`],
      ['ORG-', 'ORG', 'org-1', 'WS-1', 'ORG-a b', 'ORG-é', 'ORG-1\n', ' ORG-1', `ORG-${'x'.repeat(121)}`],
    ],
    [
      'a workspace',
      identifierPattern.workspace,
      ['WS-1', 'WS-berlin'],
      ['WS-', 'ORG-1', 'WS-\0', 'WS-1\n', ''],
    ],
    [
      'an actor or subject',
      identifierPattern.resource,
      ['USR-ada', 'x', '~', 'x'.repeat(128)],
      ['', 'a b', 'é', 'x\n', 'x'.repeat(129)],
    ],
    [
      'a kind',
      kindPattern,
      ['user', 'service_line', 'a1', 'x'.repeat(64)],
      ['', 'User', '1a', '_a', 'a-b', 'a b', 'user\n', 'x'.repeat(65)],
    ],
  ];

  test.each(cases)('%s accepts exactly what it should', (_, pattern, good, bad) => {
    const isTaken = (text: string) => new RegExp(pattern).test(text);
    expect(good.filter((text) => !isTaken(text))).toEqual([]);
    expect(bad.filter(isTaken)).toEqual([]);
  });
});
