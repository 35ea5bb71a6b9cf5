import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { sizeOfCore } from '../size.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const entries = Object.keys(manifest.exports).filter((entry) => entry !== './package.json');

const project = await mkdtemp(join(tmpdir(), 'posthorn-receiver-'));
afterAll(() => rm(project, { recursive: true, force: true }));
await writeFile(join(project, 'package.json'), '{}');
// Packs the package and installs what was packed.
const flags = ['--install-links', '--ignore-scripts', '--offline', '--no-audit', '--no-fund'];
const installed = await run('npm', ['install', ...flags, root], { cwd: project });

const coreBytes = await sizeOfCore();

test(`the core is under 5 KB, minified and compressed: ${coreBytes} bytes`, () => {
  expect(coreBytes).toBeGreaterThan(1000);
  expect(coreBytes).toBeLessThan(5000);
});

describe('the package', () => {
  test('has no dependencies', () => {
    expect(manifest.dependencies).toBeUndefined();
    for (const peer of Object.keys(manifest.peerDependencies)) {
      expect(manifest.peerDependenciesMeta[peer]).toEqual({ optional: true });
    }
  });

  test('has what it needs and nothing else', async () => {
    const place = join(project, 'node_modules/@posthorn/receiver');
    const entries = await readdir(place, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(place, join(parentPath, name)));
    expect(paths).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'package.json', 'cjs/package.json']),
    );
    const other = paths.filter(
      (path) => !/^((dist|cjs)\/[\w-]+(\.d\.ts|\.js)|[A-Z]+(\.md)?|(cjs\/)?package\.json)$/.test(path),
    );
    expect(other).toEqual([]);
  });
});

describe('installed in an empty directory', () => {
  const example = `
    const receiver = createReceiver({
      secret: 'a-secret-of-the-project',
      on: { 'invoice.paid': ({ data }) => console.log(data.id, 'is paid') },
    });
    const request = signedWebRequest('http://localhost/', 'invoice.paid', {
      secret: 'a-secret-of-the-project',
      data: { id: 'INV-7' },
    });
    webHandler(receiver)(request).then(({ status }) => console.log(status));
  `;
  const names = { '': 'createReceiver', '/web': 'webHandler', '/testing': 'signedWebRequest' };

  test('it comes alone, and without a warning about engines', () => {
    expect(installed.stdout).toContain('added 1 package');
    expect(installed.stderr).not.toContain('EBADENGINE');
  });

  test.each([
    ['mjs', (path: string, name: string) => `import { ${name} } from '@posthorn/receiver${path}';`],
    ['cjs', (path: string, name: string) => `const { ${name} } = require('@posthorn/receiver${path}');`],
  ])('its first example runs as .%s', async (extension, load) => {
    const imports = Object.entries(names).map(([path, name]) => load(path, name));
    const file = join(project, `example.${extension}`);
    await writeFile(file, imports.join('\n') + example);
    expect((await run(process.execPath, [file])).stdout).toBe('INV-7 is paid\n200\n');
  });

  test('every entry loads by import and by require, with the same names and without its framework', async () => {
    const program = `
      const names = (module) => Object.keys(module).filter((name) => !['default', 'module.exports'].includes(name));
      const load = async (entry) => {
        const specifier = '@posthorn/receiver' + entry.slice(1);
        return [entry, names(await import(specifier)).sort(), names(require(specifier)).sort()];
      };
      Promise.all(process.argv.slice(1).map(load)).then((all) => console.log(JSON.stringify(all)));`;
    const { stdout } = await run(process.execPath, ['-e', program, ...entries], { cwd: project });
    const loaded = JSON.parse(stdout) as [string, string[], string[]][];
    expect(loaded.map(([entry]) => entry)).toEqual(entries);
    for (const [, imported, required] of loaded) {
      expect(imported).toEqual(required);
      expect(imported).not.toEqual([]);
    }
  });
});
