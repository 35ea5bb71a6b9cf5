// Prints what a browser loads for the overview, compressed as the server does it. Fails above the budget.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const dist = fileURLToPath(new URL('dist/', import.meta.url));
const base = '/console/';
const budget = 200_000;

/** Returns every file that the first view needs: what index.html names, which has the overview, and the typeface. */
function filesOfFirstView() {
  const index = readFileSync(join(dist, 'index.html'), 'utf8');
  const found = new Set(['index.html']);
  const queue = [...index.matchAll(/(?:src|href)="\/console\/([^"]+)"/g)].map(([, path]) => path);
  const manifest = readFileSync(join(dist, 'manifest.json'), 'utf8');
  const chunks = JSON.parse(manifest);
  const byFile = new Map(Object.values(chunks).map((chunk) => [chunk.file, chunk]));
  while (queue.length > 0) {
    const file = queue.pop();
    if (found.has(file)) continue;
    found.add(file);
    const chunk = byFile.get(file);
    for (const name of chunk?.imports ?? []) queue.push(chunks[name].file);
    queue.push(...(chunk?.css ?? []));
  }
  return [...found];
}

/** Returns the size of each file of the first view, compressed. */
export function sizesOfFirstView() {
  return filesOfFirstView()
    .map((file) => ({
      file: `${base}${file}`,
      bytes: gzipSync(readFileSync(join(dist, file)), { level: 6 }).length,
    }))
    .sort((a, b) => b.bytes - a.bytes);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const sizes = sizesOfFirstView();
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { file, bytes } of sizes.slice(0, 8)) console.log(`${String(bytes).padStart(8)}  ${file}`);
  console.log(`${String(total).padStart(8)}  in all, of ${budget}, in ${sizes.length} files`);
  if (total > budget) process.exitCode = 1;
}
