// Builds the console into dist, or does nothing if the last build had the same sources.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const mark = join(here, 'dist', '.sources');

/** Returns a digest of everything that a build depends on. */
function digestOfSources() {
  const digest = createHash('sha256');
  const inFolders = ['src', 'public', '../client/dist', '../receiver/dist'].flatMap((folder) =>
    readdirSync(join(here, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  const single = ['index.html', 'vite.config.ts', 'package.json', 'build.js', '../../package-lock.json'];
  for (const path of [...inFolders.sort(), ...single.map((file) => join(here, file))]) {
    digest.update(path.slice(here.length)).update('\0').update(readFileSync(path)).update('\0');
  }
  return digest.digest('hex');
}

/** Builds the console if its sources changed since the last build. */
export async function buildConsole() {
  const digest = digestOfSources();
  if (existsSync(mark) && readFileSync(mark, 'utf8') === digest) return;
  const { build } = await import('vite');
  // Tests build too, and React would come with its checks for development.
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = 'production';
  await build({ root: here, configFile: join(here, 'vite.config.ts'), logLevel: 'warn' });
  if (before !== undefined) process.env.NODE_ENV = before;
  writeFileSync(mark, digest);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await buildConsole();
