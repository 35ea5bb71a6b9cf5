import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseTraceparent } from '../../src/events/event.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

it.each([
  ['a sampled trace', `00-${traceId}-${spanId}-01`, 1],
  ['a trace that is not sampled', `00-${traceId}-${spanId}-00`, 0],
  ['flags of a later version', `cc-${traceId}-${spanId}-03-more`, 1],
])('the header traceparent is read: %s', (_what, text, traceFlags) => {
  expect(parseTraceparent(text)).toEqual({ traceId, spanId, traceFlags });
});

it.each([
  ['nothing', undefined],
  ['upper case', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['the forbidden version', `ff-${traceId}-${spanId}-01`],
  ['more than version 00 has', `00-${traceId}-${spanId}-01-more`],
  ['an empty trace', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['an empty span', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['a line break', `00-${traceId}-${spanId}-01\r\nX-Injected: 1`],
])('anything else is ignored: %s', (_what, text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

it('no text makes reading fail', () => {
  fc.assert(fc.property(fc.string(), (text) => parseTraceparent(text) === undefined));
});
