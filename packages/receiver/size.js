// Prints the size of the core: what `import '@posthorn/receiver'` adds to a program. Fails above the budget.
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const budget = 5_000;

/** Returns the bytes of the core and all that it imports, minified and compressed. */
export async function sizeOfCore() {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: true,
      target: 'es2023',
      rollupOptions: {
        input: fileURLToPath(new URL('dist/index.js', import.meta.url)),
        external: /^node:/,
        preserveEntrySignatures: 'strict',
      },
    },
  });
  return gzipSync(built.output[0].code, { level: 9 }).byteLength;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const bytes = await sizeOfCore();
  console.log(`${String(bytes).padStart(8)}  @posthorn/receiver, of ${budget}`);
  if (bytes > budget) process.exitCode = 1;
}
