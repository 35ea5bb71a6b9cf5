import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { payloadTexts } from '../../src/events/payload-text.js';

/** JSON text as anyone might write it: spaces anywhere, keys escaped or not, keys given twice. */
const spaces = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
const payload = fc.jsonValue({ maxDepth: 4 }).map((value) => ({ value }));
const written = fc.letrec<{ text: string; key: string }>(() => ({
  text: fc
    .tuple(payload, fc.constantFrom(undefined, 1, '\t'))
    .map(([value, indent]) => JSON.stringify(value, null, indent)),
  key: fc.constantFrom('"payload"', '"payl\\u006fad"', '"\\u0070ayload"'),
}));
const other = fc
  .tuple(
    fc.string().filter((key) => key !== 'payload' && key !== '__proto__'),
    fc.json(),
  )
  .map(([key, value]) => [JSON.stringify(key), value] as const);
const event = fc
  .tuple(
    fc.array(other, { maxLength: 3 }),
    fc.array(fc.tuple(written.key, written.text), { minLength: 1, maxLength: 2 }),
    spaces,
    fc.nat(),
  )
  .map(([others, payloads, gap, seed]) => {
    const members: (readonly [string, string])[] = [...others];
    for (const member of payloads) members.splice(seed % (members.length + 1), 0, member);
    return `{${gap}${members.map(([key, value]) => `${key}${gap}:${gap}${value}${gap}`).join(`,${gap}`)}}`;
  });

describe('the text of a payload', () => {
  test("is part of the event's text and parses to the event's payload, however it was written", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 5 }), spaces, (events, gap) => {
        const text = `${gap}[${gap}${events.join(`${gap},${gap}`)}${gap}]${gap}`;
        const texts = payloadTexts(text);
        expect(texts.map((one) => JSON.parse(one))).toEqual(
          (JSON.parse(text) as { payload: unknown }[]).map((one) => one.payload),
        );
        for (const one of texts) expect(text).toContain(one);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is found in a single event, too', () => {
    fc.assert(
      fc.property(event, spaces, (text, gap) => {
        expect(payloadTexts(gap + text).map((one) => JSON.parse(one))).toEqual([JSON.parse(text).payload]);
      }),
    );
  });

  test('keeps numbers, spaces, escapes and the order of keys', () => {
    const payload = '{ "b": 1.0, "a": 12345678901234567890, "text": "\\u00e9 \\" } ] \\\\" }';
    expect(payloadTexts(`[{"type":"x.y","payload":${payload},"subject":{"id":"1"}}]`)).toEqual([payload]);
  });
});
