import { expect, test } from 'vitest';
import { buildConsole } from '../build.js';
import { sizesOfFirstView } from '../size.js';

test('the first view takes at most 200 KB, compressed', { timeout: 60_000 }, async () => {
  await buildConsole();
  const sizes = sizesOfFirstView();
  expect(sizes.some(({ file }) => file.includes('overview'))).toBe(true);
  expect(sizes.some(({ file }) => file.includes('bar-chart'))).toBe(true);
  expect(sizes.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(200_000);
});
