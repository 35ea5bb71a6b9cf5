import { expect, test } from 'vitest';
import { parseQueryString } from '../../src/web/validation.js';

test('a repeated name keeps every value, in order', () => {
  expect({ ...parseQueryString('a=1&b=2&a=3&a=%20') }).toEqual({ a: ['1', '3', ' '], b: '2' });
});
