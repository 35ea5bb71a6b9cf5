import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { describe, expect, test } from 'vitest';
import { buildConsole } from '../../console/build.js';
import { afterFile } from './support/cleanup.js';
import { type Packed, packAll } from './support/packages.js';
import { sharedService } from './support/service.js';
import { run, snippet } from './support/snippets.js';
import { newTenant } from './support/tenant.js';

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

const ofIntegrators = ['@posthorn/receiver', '@posthorn/client'];

test.each(ofIntegrators)('%s has code, types, a readme and a license, and nothing else', (name) => {
  const expected = /^((dist|cjs)\/[\w-]+(\.d\.ts|\.js)|LICENSE|README\.md|(cjs\/)?package\.json)$/;
  expect(all.get(name)?.files.filter((path) => !expected.test(path))).toEqual([]);
});

describe(`${ofIntegrators.join(' and ')}, installed in an empty directory`, async () => {
  const project = await mkdtemp(join(tmpdir(), 'posthorn-project-'));
  afterFile(() => rm(project, { recursive: true, force: true }));
  await writeFile(join(project, 'package.json'), '{}');
  const tarballs = ofIntegrators.map((name) => all.get(name)?.tarball ?? '');
  const flags = ['--ignore-scripts', '--offline', '--no-audit', '--no-fund'];
  const installed = await run('npm', ['--prefix', project, 'install', ...flags, ...tarballs]);

  /** Runs a program of the project, which must succeed, and returns what it prints. */
  async function print(name: string, text: string, args: readonly string[] = [], env = {}): Promise<string> {
    await writeFile(join(project, name), text);
    const { code, stdout, stderr } = await run(process.execPath, [join(project, name), ...args], env);
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  }

  test('come alone, and without a warning about engines', async () => {
    expect(installed.code, installed.stderr).toBe(0);
    expect(installed.stderr).not.toContain('EBADENGINE');
    const scopes = await readdir(join(project, 'node_modules'));
    expect(scopes.filter((name) => !name.startsWith('.'))).toEqual(['@posthorn']);
    expect((await readdir(join(project, 'node_modules/@posthorn'))).sort()).toEqual(['client', 'receiver']);
  });

  test.each([
    ['mjs', (path: string, name: string) => `import { ${name} } from '@posthorn/receiver${path}';`],
    ['cjs', (path: string, name: string) => `const { ${name} } = require('@posthorn/receiver${path}');`],
  ])('run the first example of the receiver as .%s', async (extension, load) => {
    const names = { '': 'createReceiver', '/web': 'webHandler', '/testing': 'signedWebRequest' };
    const imports = Object.entries(names).map(([path, name]) => load(path, name));
    const example = `
      const receiver = createReceiver({
        secret: 'a-secret-of-the-project',
        on: { 'invoice.paid': ({ data }) => console.log(data.id, 'is paid') },
      });
      const request = signedWebRequest('http://localhost/', 'invoice.paid', {
        secret: 'a-secret-of-the-project',
        data: { id: 'INV-7' },
      });
      webHandler(receiver)(request).then(({ status }) => console.log(status));`;
    expect(await print(`example.${extension}`, imports.join('\n') + example)).toBe('INV-7 is paid\n200\n');
  });

  test('load every entry of the receiver by import and by require, with the same names and without its framework', async () => {
    const entries = Object.keys(all.get('@posthorn/receiver')?.manifest.exports ?? {}).filter(
      (entry) => entry !== './package.json',
    );
    const program = `
      const names = (module) => Object.keys(module).filter((name) => !['default', 'module.exports'].includes(name));
      const load = async (entry) => {
        const specifier = '@posthorn/receiver' + entry.slice(1);
        return [entry, names(await import(specifier)).sort(), names(require(specifier)).sort()];
      };
      Promise.all(process.argv.slice(2).map(load)).then((all) => console.log(JSON.stringify(all)));`;
    const loaded = JSON.parse(await print('load.cjs', program, entries)) as [string, string[], string[]][];
    expect(loaded.map(([entry]) => entry)).toEqual(entries);
    for (const [, imported, required] of loaded) {
      expect(imported).toEqual(required);
      expect(imported).not.toEqual([]);
    }
  });

  test('run the first example in the readme of the client', async () => {
    const service = await sharedService();
    const tenant = await newTenant(service);
    const recorded = await tenant.record({ subject: { type: 'invoice', id: 'INV-readme' } });
    const example = snippet('packages/client/README.md', 'js', 'posthorn.events.list');
    const env = { POSTHORN_URL: service.publicUrl, POSTHORN_TOKEN: tenant.token };
    const printed = await print('first.mjs', example, [], env);
    expect(printed.trim()).toBe(`${recorded.created_at} invoice.paid INV-readme`);
  });
});
