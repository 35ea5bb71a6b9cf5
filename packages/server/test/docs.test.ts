import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { relocationStates } from '../src/cells/relocation-store.js';
import { problems } from '../src/values/problem.js';
import { webhookStatuses } from '../src/webhooks/webhook.js';
import {
  anchorsOf,
  localLinks,
  pages,
  printedFiles,
  readPage,
  root,
  sections,
  statesDrawn,
  statesOfTable,
  statesOfType,
  withSection,
  writePage,
  writersOf,
} from './support/docs.js';

const howToUpdate =
  'The page differs from the source. Bring it up to date with: ' +
  'UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts';

describe('pages generated from the source', () => {
  test.each(sections)('$page has the current $name', ({ page, name, text }) => {
    const expected = withSection(readPage(page), name, text);
    if (process.env.UPDATE_DOCS) writePage(page, expected);
    expect(readPage(page), howToUpdate).toBe(expected);
  });

  test.each(printedFiles)('$page matches the source', ({ page, text }) => {
    if (process.env.UPDATE_DOCS) writePage(page, text);
    expect(readPage(page), howToUpdate).toBe(text);
  });

  test('every error code is explained', () => {
    const explained = anchorsOf('docs/errors.md');
    expect(Object.keys(problems).filter((code) => !explained.has(code))).toEqual([]);
  });
});

test('the page on the life of a delivery names every place that writes one, with its tables', () => {
  const below =
    readPage('docs/architecture.md').split('\n## The life of a delivery\n')[1]?.split('\n## ')[0] ?? '';
  const rows = [...below.matchAll(/^\| `(\S+\.\w+)` \| [^|]+ \| ([^|]+) \|$/gm)];
  const told = rows.map(([, place, tables = '']) => [place, tables.replaceAll('`', '').split(', ').sort()]);
  expect(Object.fromEntries(told)).toEqual(writersOf(['backlog', 'deliveries', 'handoffs']));
});

describe('a lifecycle has the same statuses in the diagram, in SQL and in TypeScript', () => {
  test('of a webhook', () => {
    const states = statesDrawn('docs/manage-webhooks.md', '## Webhook statuses');
    expect(states).toEqual([...webhookStatuses].sort());
    expect(states).toEqual(statesOfTable('webhooks'));
  });

  test('of a delivery', () => {
    const states = statesDrawn('docs/architecture.md', '## Delivery statuses');
    expect(states).toEqual(statesOfTable('deliveries'));
    expect(states).toEqual(statesOfType('engine/settlement-store.ts'));
  });

  test('of a relocation', () => {
    const states = statesDrawn('docs/scale.md', '### Move an organization');
    expect(states).toEqual([...relocationStates].sort());
    expect(states).toEqual(statesOfTable('relocations'));
  });
});

describe.each(pages)('%s', (page) => {
  test('links to existing pages and headings', () => {
    const broken = localLinks(page).filter(
      ({ file, anchor }) =>
        !existsSync(join(root, file)) || (anchor !== undefined && !anchorsOf(file).has(anchor)),
    );
    expect(broken.map(({ link }) => link)).toEqual([]);
  });
});

test('every test that docs/decisions.md names exists', () => {
  const named = [...readPage('docs/decisions.md').matchAll(/`([\w./-]+\.test\.[jt]s)`/g)].map(
    ([, path]) => path ?? '',
  );
  expect(named.length).toBeGreaterThan(40);
  const isThere = (path: string) =>
    ['packages/server/test', ''].some((from) => existsSync(join(root, from, path)));
  expect(named.filter((path) => !isThere(path))).toEqual([]);
});
