import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { sizeOfCore } from '../size.js';

const manifest = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
const coreBytes = await sizeOfCore();

test(`the core is under 5 KB, minified and compressed: ${coreBytes} bytes`, () => {
  expect(coreBytes).toBeGreaterThan(1000);
  expect(coreBytes).toBeLessThan(5000);
});

test('the package has no dependencies', () => {
  expect(manifest.dependencies).toBeUndefined();
  for (const peer of Object.keys(manifest.peerDependencies)) {
    expect(manifest.peerDependenciesMeta[peer]).toEqual({ optional: true });
  }
});
