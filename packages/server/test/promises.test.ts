import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { promisePages, promisesOf } from './support/promises.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** What stands as the first argument of a call, in quotes. */
function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/\(\s*(['"`])(.+)\1,/g)].map(([, , name = '']) => name);
}

describe.each(promisePages)('%s', (page) => {
  const promises = promisesOf(page);

  it('has promises in every table', () => {
    const tables = readFileSync(join(root, page), 'utf8').split('<!-- promises:').slice(1);
    expect(tables.length).toBeGreaterThan(0);
    for (const table of tables) expect(table).toMatch(/\.test\.ts` \|/);
    const rows = tables.join('').match(/^\| (?!Promise|-)/gm) ?? [];
    expect(promises).toHaveLength(rows.length);
  });

  it.each(promises.map(({ promise, file, name }) => [promise, file, name]))(
    '"%s" is held by %s %s',
    (_, file, name) => {
      expect(existsSync(join(root, file)), file).toBe(true);
      const text = readFileSync(join(root, file), 'utf8').replaceAll("\\'", "'");
      // A name in a comment or in a longer text is no test. See test/support/setup.ts for tests with an empty body.
      if (name !== '') expect(namesIn(text)).toContain(name);
      else expect(text).toMatch(/\b(?:it|test)(?:\.\w+(?:\([^)]*\))?)*\(/);
    },
  );
});
