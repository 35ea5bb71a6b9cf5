import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allCommands, usageLine } from 'posthorn';
import { operatorCommands } from '../../src/cli/operator-commands.js';
import { settings } from '../../src/settings/config.js';
import { problems } from '../../src/values/problem.js';
import { table } from '../../src/web/route.js';
import { documentedTypes } from './catalogue.js';
import { eventDataSource, eventSamplesSource } from './event-data.js';
import { eventTypesPage } from './event-types-page.js';
import { lifecyclesPage } from './lifecycles-page.js';
import { resourceTypesSource } from './resource-types.js';

export const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** Every page a reader may land on, relative to the repository. */
export const pages: readonly string[] = [
  ...[
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'packages/receiver/README.md',
    'packages/client/README.md',
    'packages/cli/README.md',
    'packages/server/README.md',
    'examples/README.md',
  ],
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

export const readPage = (page: string) => readFileSync(join(root, page), 'utf8');
export const writePage = (page: string, text: string) => writeFileSync(join(root, page), text);

/** The parts of pages that are printed from the tables of the source, between two comments each. */
export const sections: readonly { page: string; name: string; text: string }[] = [
  { page: 'docs/settings.md', name: 'settings', text: settingsTable() },
  { page: 'docs/cli.md', name: 'commands', text: commandPages() },
  { page: 'docs/errors.md', name: 'problems', text: problemTable() },
  { page: 'docs/event-types.md', name: 'event types', text: eventTypesPage() },
  { page: 'docs/lifecycles.md', name: 'lifecycles', text: lifecyclesPage() },
];

/** Files that are printed as a whole. */
export const printedFiles: readonly { page: string; text: string }[] = [
  { page: 'packages/receiver/src/event-data.ts', text: eventDataSource(documentedTypes) },
  { page: 'packages/receiver/src/event-samples.ts', text: eventSamplesSource(documentedTypes) },
  { page: 'packages/server/types/resources.d.ts', text: resourceTypesSource() },
];

/** The page with what stands between the comments of that name replaced. */
export function withSection(page: string, name: string, text: string): string {
  const [start, end] = [`<!-- ${name}: printed from the source -->`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no ${start} followed by ${end}`);
  return `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`;
}

function settingsTable(): string {
  const rows = Object.values(settings).map(({ env, fallback, fallbackNote, description }) => [
    `\`${env}\``,
    fallbackNote ?? (fallback === undefined ? 'none' : `\`${fallback}\``),
    description.replaceAll('](docs/', ']('),
  ]);
  return table(['Setting', 'Default', 'Meaning'], rows);
}

function problemTable(): string {
  const codes = new Map<number, string[]>();
  for (const [code, { status }] of Object.entries(problems))
    codes.set(status, [...(codes.get(status) ?? []), `[\`${code}\`](#${code})`]);
  const rows = [...codes]
    .sort(([a], [b]) => a - b)
    .map(([status, links]) => [String(status), links.join(', ')]);
  return table(['Status', 'Codes'], rows);
}

/** Every command with what it does and its options. `posthorn help` explains the options. */
function commandPages(): string {
  const rows = allCommands(operatorCommands).map((command) => {
    const own = Object.entries(command.options).filter(([, { group }]) => group === undefined);
    const connects = own.length < Object.keys(command.options).length;
    const options = own
      // Nearly every command has this one. The page describes it once.
      .filter(([option]) => option !== 'json')
      .map(([option, { value }]) => `\`--${option}${value ? ` ${value}` : ''}\``);
    const usage = usageLine(command).replace(' [options]', '').replace('posthorn ', '');
    return [`\`${usage}\``, command.summary, [...options, ...(connects ? ['connection'] : [])].join(', ')];
  });
  return table(['Command', 'What it does', 'Options'], rows);
}

/** Headings of a page as GitHub makes anchors of them. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const headings = withoutCode(readPage(page)).matchAll(/^#{1,6} (.+)$/gm);
  return new Set(
    [...headings].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Links of a page that lead to another page, file or heading of the repository. */
export function localLinks(page: string): { link: string; file: string; anchor: string | undefined }[] {
  const links = withoutCode(readPage(page)).matchAll(/\]\(([^)\s]+)\)/g);
  return [...links]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [path = '', anchor] = link.split('#');
      const file = path === '' ? page : relative(root, join(root, dirname(page), path));
      return { link, file, anchor };
    });
}

const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '');

/** The names in backticks that start the rows of the first table below a heading. */
export function namesBelow(page: string, heading: string): string[] {
  const [, rows = ''] = (readPage(page).split(`\n${heading}\n`)[1] ?? '').split(/((?:^\|.*\n)+)/m);
  return [...rows.matchAll(/^\| (`[^|]*`) \|/gm)]
    .flatMap(([, cell = '']) => cell.split(', '))
    .map((name) => name.slice(1, -1));
}

/** The states of the first Mermaid diagram below a heading. */
export function statesDrawn(page: string, heading: string): readonly string[] {
  const below = readPage(page).split(`\n${heading}\n`)[1] ?? '';
  const diagram = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(below)?.[1] ?? '';
  const moves = diagram.matchAll(/^\s*(\S+) --> ([^\s:]+)/gm);
  const states = [...moves].flatMap(([, from = '', to = '']) => [from, to]);
  return [...new Set(states)].filter((state) => state !== '[*]').sort();
}

/** The states that the CHECK of a table's `status` or `state` allows. */
export function statesOfTable(name: string): readonly string[] {
  const sql = ['baseline', 'migrations']
    .map((folder) => join(root, 'packages/server/schema', folder))
    .flatMap((folder) => readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8')))
    .join('\n');
  // A migration may have replaced the constraint of the table.
  const definition =
    sql
      .split(new RegExp(`create table posthorn\\.${name} \\(|add constraint ${name}_(?:state|status)_check`))
      .at(-1) ?? '';
  const list = /check \((?:status|state) in \(([^)]*)\)\)/.exec(definition)?.[1] ?? '';
  return [...list.matchAll(/'(\w+)'/g)].map(([, state = '']) => state).sort();
}

/** The members of the first `status: 'a' | 'b'` of a source file. */
export function statesOfType(file: string): readonly string[] {
  const text = readFileSync(join(root, 'packages/server/src', file), 'utf8');
  const union = /\bstatus: ((?:'\w+'(?: \| )?)+);/.exec(text)?.[1] ?? '';
  return [...union.matchAll(/'(\w+)'/g)].map(([, state = '']) => state).sort();
}

/** The SQL functions and stores that write one of these tables, each with those that it writes. */
export function writersOf(tables: readonly string[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const folder of ['packages/server/schema/functions', 'packages/server/src']) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (!/\.sql$|store\.ts$/.test(file)) continue;
      const text = readFileSync(join(root, folder, file), 'utf8');
      const writes = text.matchAll(/\b(?:insert into|update|delete from) posthorn\.(\w+)/g);
      const own = new Set(
        [...writes].map(([, table = '']) => table).filter((table) => tables.includes(table)),
      );
      if (own.size > 0) found[file] = [...own].sort();
    }
  }
  return found;
}
