import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { buildConsole } from '../build.js';
import { sizesOfFirstView } from '../size.js';

test('the first view takes at most 200 KB, compressed', { timeout: 60_000 }, async () => {
  await buildConsole();
  const sizes = sizesOfFirstView();
  const texts = sizes.map(({ file }) =>
    readFileSync(new URL(file.replace('/console/', '../dist/'), import.meta.url), 'utf8'),
  );
  expect(texts.some((text) => text.includes('waiting to retry'))).toBe(true);
  expect(sizes.some(({ file }) => file.endsWith('.woff2'))).toBe(true);
  expect(sizes.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(200_000);
});
