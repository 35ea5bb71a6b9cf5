import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { describe, expect, test } from 'vitest';
import { buildConsole } from '../../console/build.js';
import { type Packed, packAll } from './support/packages.js';

await buildConsole();
const all = await packAll();

/** Every file that the manifest leads to: exports, types and programs. */
function namedFiles({ manifest }: Packed): string[] {
  const text = JSON.stringify([manifest.exports, manifest.bin]);
  return [...text.matchAll(/"(?:\.\/)?([\w/-]+\.[\w.]+)"/g)].map(([, path = '']) => path);
}

/** In a checkout, what an earlier build left behind is no fault. What is published is built in a fresh one. */
function isStale({ source }: Packed, path: string): boolean {
  const name = /^(?:dist|cjs)\/(.+)\.js$/.exec(path)?.[1];
  const isCompiled = existsSync(join(source, 'src/index.ts'));
  return isCompiled && name !== undefined && !existsSync(join(source, 'src', `${name}.ts`));
}

const hasTypes = ({ manifest }: Packed) => JSON.stringify(manifest.exports ?? {}).includes('.d.ts"');
const isDual = ({ manifest }: Packed) => JSON.stringify(manifest.exports ?? {}).includes('"require"');

const packages = [...all.values()].map((packed) => [packed.manifest.name, packed] as const);

describe.each(packages)('%s, packed', (_name, packed) => {
  test('has its license, a readme and every file that it names', () => {
    expect(packed.files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    expect(namedFiles(packed).length).toBeGreaterThan(0);
    expect(packed.files).toEqual(expect.arrayContaining(namedFiles(packed)));
  });

  test('has no tests, no leftovers of a build, and no maps', async () => {
    const leftover = /(^|\/)\.|^test\/|\.(tsbuildinfo|map|tsx)$|(?<!\.d)\.ts$/;
    expect(packed.files.filter((path) => leftover.test(path))).toEqual([]);
    const code = packed.files.filter((path) => path.endsWith('.js') && !isStale(packed, path));
    const texts = await Promise.all(code.map((path) => readFile(join(packed.source, path), 'utf8')));
    expect(code.filter((_path, index) => texts[index]!.includes('\n//# sourceMappingURL='))).toEqual([]);
  });

  test('needs only packages that exist, and the Node that all of ours need', () => {
    const { dependencies = {}, peerDependencies = {}, engines } = packed.manifest;
    expect(engines).toEqual({ node: '>=20.19' });
    for (const [name, range] of Object.entries({ ...dependencies, ...peerDependencies })) {
      expect(range, name).toMatch(/^(\^|~|>=)?\d/);
      if (name.startsWith('@posthorn/')) expect(all.has(name), name).toBe(true);
    }
  });

  test('is as publint wants it', async () => {
    const tarball = Uint8Array.from(await readFile(packed.tarball)).buffer as ArrayBuffer;
    const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });
});

// Without the resolution of TypeScript before 4.7, which knows no exports and which TypeScript 7 has dropped.
test.each(packages.filter(([, packed]) => hasTypes(packed)))(
  '%s has types that are right for import, require and bundlers',
  async (_name, packed) => {
    const data = Uint8Array.from(await readFile(packed.tarball));
    const result = await checkPackage(createPackageFromTarballData(data));
    if (result.types === false) throw new Error('the package has no types');
    const problems = result.problems.filter((problem) => {
      const isOld = 'resolutionKind' in problem && problem.resolutionKind === 'node10';
      return !isOld && (isDual(packed) || problem.kind !== 'CJSResolvesToESM');
    });
    expect(problems).toEqual([]);
  },
);
