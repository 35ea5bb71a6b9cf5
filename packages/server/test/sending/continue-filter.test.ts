import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ContinueFilter } from '../../src/sending/connection.js';
import { anyCharacter } from '../support/any-character.js';

/** Passes the text in pieces that end at these places, as often as given. */
function filter(text: string, cuts: readonly number[]): string {
  const places = [...cuts.map((cut) => cut % (text.length + 1)), 0, text.length].sort((a, b) => a - b);
  const subject = new ContinueFilter();
  subject.open();
  const chunks = places.slice(1).map((end, index) => Buffer.from(text.slice(places[index], end), 'latin1'));
  for (const chunk of chunks) subject.pass(chunk);
  return Buffer.concat(chunks).toString('latin1');
}

const heads = fc.tuple(
  fc.constantFrom('1.1', '1.0'),
  fc.oneof(fc.constant(100), fc.integer({ min: 100, max: 199 })),
  fc.constantFrom('', ' Continue', ' 100 HTTP/1.1 100'),
  fc.array(fc.constantFrom('A: b', 'Via: HTTP/1.1 100', 'Content-Length: 100', 'A: \r', ''.padEnd(50, 'x:'))),
);
const finals = fc.tuple(
  fc.integer({ min: 200, max: 599 }),
  fc.constantFrom('', 'HTTP/1.1 100 Continue\r\n\r\n', '\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n'),
);
const cuts = fc.array(fc.nat(), { maxLength: 40 });

test('turns 100 into 102 before a response and changes nothing else, however the bytes are split', () => {
  fc.assert(
    fc.property(fc.array(heads, { maxLength: 4 }), finals, cuts, (informational, [status, body], places) => {
      const text = (hundred: number) =>
        informational
          .map(([version, code, phrase, headers]) => {
            const lines = [`HTTP/${version} ${code === 100 ? hundred : code}${phrase}`, ...headers];
            return `${lines.join('\r\n')}\r\n\r\n`;
          })
          .concat(`HTTP/1.1 ${status} X\r\nVia: HTTP/1.1 100\r\n\r\n${body}`)
          .join('');
      expect(filter(text(100), places)).toBe(text(102));
    }),
    { numRuns: 1_000 },
  );
});

test('changes at most the digits of a status, in any bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), cuts, (noise, places) => {
      const text = Buffer.from(noise).toString('latin1');
      const passed = filter(text, places);
      expect(passed).toHaveLength(text.length);
      const changed = [...text].filter((byte, index) => byte !== passed[index]);
      expect(changed.every((byte) => byte === '0')).toBe(true);
    }),
  );
});

test('changes nothing while no response is expected', () => {
  const chunk = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n');
  new ContinueFilter().pass(chunk);
  expect(chunk.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
});
