import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const promisePages = ['SECURITY.md', 'docs/promises.md'];

export interface Promised {
  promise: string;
  /** The test file, relative to the repository. */
  file: string;
  /** The name of a test or of a group of tests in it. If empty, the whole file holds the promise. */
  name: string;
}

/** Returns the rows of the tables of a page whose second column is a test file. */
export function promisesOf(page: string): Promised[] {
  const text = readFileSync(new URL(`../../../../${page}`, import.meta.url), 'utf8');
  const rows = text.matchAll(/^\| (.+) \| `([^`]+\.test\.ts)` \| (?:`(.+)`)? ?\|$/gm);
  return [...rows].map(([, promise = '', file = '', name = '']) => ({ promise, file, name }));
}

/** Returns a test for names, groups included: whether that test of the file holds a promise. */
export function holdsPromise(testFile: string): (names: readonly string[]) => boolean {
  const root = fileURLToPath(new URL('../../../..', import.meta.url));
  const held = promisePages.flatMap(promisesOf).filter(({ file }) => `${root}${file}` === testFile);
  return (names) => held.some(({ name }) => name === '' || names.includes(name));
}
