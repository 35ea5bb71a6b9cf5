import { expect, test } from 'vitest';
import { excerptOf } from '../src/deliveries/excerpt.js';

test.each([
  ['text as it is', '{"error": "no disk"}', '{"error": "no disk"}'],
  ['text with its long runs shortened', `${'x'.repeat(1_024)} end`, 'xxxx… end'],
  ['a name for bytes that are not text', '\ufffdPNG\r\n\x1a\n\ufffd\ufffd', '(binary data)'],
  ['text in colors', '\x1b[31mno disk\x1b[0m', '\x1b[31mno disk\x1b[0m'],
  ['text in another encoding', 'Acc\ufffds refus\ufffd', 'Acc\ufffds refus\ufffd'],
])('the excerpt of a response is %s', (_what, response, shown) => {
  expect(excerptOf(response)).toBe(shown);
});
