import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

interface Promised {
  promise: string;
  file: string;
  name: string;
}

/** The rows of the tables whose second column is a test file. */
function promisesOf(page: string): Promised[] {
  const rows = readFileSync(join(root, page), 'utf8').matchAll(
    /^\| (.+) \| `([^`]+\.test\.ts)` \| (?:`(.+)`)? ?\|$/gm,
  );
  return [...rows].map(([, promise = '', file = '', name = '']) => ({ promise, file, name }));
}

describe.each(['SECURITY.md', 'docs/promises.md'])('%s', (page) => {
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
      expect(text).toMatch(/\b(?:it|test)(?:\.\w+(?:\([^)]*\))?)*\(/);
      if (name !== '') expect(text).toContain(name);
    },
  );
});
