#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

const entry = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(entry)) {
  console.error('Posthorn is not built yet. In the checkout run: npm run build');
  process.exit(1);
}
// Under load the heap would grow to four times what is in use before it is looked through; twice is enough.
setFlagsFromString('--heap-growing-percent=100');
const { main } = await import(entry.href);
process.exitCode = await main(process.argv.slice(2), process.env);
