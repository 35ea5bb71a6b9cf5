import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { builtinTypes } from '../src/catalogue/catalogue-file.js';

const root = fileURLToPath(new URL('../src', import.meta.url));
const packages = fileURLToPath(new URL('../..', import.meta.url));

interface Import {
  /** A source file's path below src, or the name of a package. */
  target: string;
  isOurs: boolean;
  names: string;
}

const sources = new Map(
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const),
);
const files = [...sources.keys()].sort();
const imports = new Map([...sources].map(([file, text]) => [file, importsOf(file, text)] as const));

/** `import … from`, `export … from`, `import '…'` and `import('…')`, types included. */
function importsOf(file: string, text: string): Import[] {
  const statements = text.matchAll(
    /(?:^|\n)(?:import|export)\s+(?:([^'";]*?)\s+from\s+)?'([^']+)'|\bimport\(\s*'([^']+)'/g,
  );
  return [...statements].map(([, names = '', named, loaded]) => {
    const specifier = named ?? loaded ?? '';
    if (!specifier.startsWith('.')) return { target: specifier, isOurs: false, names };
    const target = relative(root, join(root, dirname(file), specifier)).replace(/\.js$/, '.ts');
    // What is outside of src is generated and has no code.
    return { target, isOurs: !target.startsWith('..'), names };
  });
}

/** The rooms, from the lowest: a room imports only from those before it. What stands directly below src is `root`. */
const order =
  'values signals postgres settings cells web audit access catalogue ' +
  'events outcomes sending webhooks engine deliveries stats resources relocating retention reference console operations processes root cli';
const rooms = order.split(' ');

const roomOf = (file: string) => (file.includes('/') ? (file.split('/', 1)[0] ?? '') : 'root');
const rankOf = (file: string) => rooms.indexOf(roomOf(file));

/** Rules without I/O: two whole rooms, and the files that are named here. */
const rules = new RegExp(
  `^(values|outcomes)/|^(${[
    'access/token',
    'audit/audit',
    'catalogue/(catalogue|catalogue-change|payload)',
    'cells/relocation',
    'engine/(health|lane|limits|policy)',
    'events/(event|new-event|payload-text)',
    'resources/(resource|resource-schema)',
    'sending/request',
    'stats/stats',
    'webhooks/(webhook|webhook-headers|webhook-url)',
  ].join('|')})\\.ts$`,
);
/** Where SQL stands. */
const stores = /^postgres\/|(^|[/-])store\.ts$/;

function edges(): { from: string; to: Import }[] {
  return files.flatMap((from) => (imports.get(from) ?? []).map((to) => ({ from, to })));
}

/** Alone among a module's names, these only look at their arguments. */
const pureNames = new Map([
  ['node:crypto', /./],
  ['node:net', /^\{ (isIP|isIPv4|isIPv6)(, (isIP|isIPv4|isIPv6))* \}$/],
]);

describe('the source', () => {
  test('is found, with its imports', () => {
    expect(files).toContain('postgres/database.ts');
    expect(imports.get('events/event-store.ts')?.map(({ target }) => target)).toContain('events/event.ts');
    expect(edges().filter(({ to }) => to.isOurs && !sources.has(to.target))).toEqual([]);
  });

  test('has no folder outside the known structure', () => {
    expect(new Set(files.map(roomOf))).toEqual(new Set(rooms));
  });

  test('imports in one direction: a room only from the rooms before it', () => {
    const wrong = edges().filter(({ from, to }) => {
      if (!to.isOurs || roomOf(from) === roomOf(to.target)) return false;
      return rankOf(to.target) > rankOf(from);
    });
    expect(wrong.map(({ from, to }) => `${from} → ${to.target}`)).toEqual([]);
  });

  test('has no import cycle', () => {
    const cycles: string[] = [];
    const done = new Set<string>();
    const walk = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) {
        cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
        return;
      }
      if (done.has(file)) return;
      for (const { target, isOurs } of imports.get(file) ?? []) if (isOurs) walk(target, [...path, file]);
      done.add(file);
    };
    for (const file of files) walk(file, []);
    expect(cycles).toEqual([]);
  });

  test('keeps input and output out of the rules', () => {
    const wrong = edges().filter(({ from, to }) => {
      if (!rules.test(from) || to.isOurs) return false;
      if (['pg', 'undici', 'fastify', 'pino', 'prom-client'].includes(to.target)) return true;
      return (
        to.target.startsWith('node:') && !pureNames.get(to.target)?.test(to.names.replaceAll(/\s+/g, ' '))
      );
    });
    expect(wrong.map(({ from, to }) => `${from} imports ${to.names} from ${to.target}`)).toEqual([]);
  });

  test('receives its clock and environment as arguments in the rules', () => {
    const wrong = files.filter(
      (file) =>
        rules.test(file) &&
        /Date\.now\(|new Date\(\)|Math\.random\(|process\.|performance\.now\(/.test(codeOf(file)),
    );
    expect(wrong).toEqual([]);
  });

  test('has SQL and the database driver only in stores', () => {
    const withSql = files.filter((file) => sql.test(codeOf(file)));
    expect(withSql).toContain('events/event-store.ts');
    expect(withSql.filter((file) => !stores.test(file))).toEqual([]);
    const withDriver = edges().filter(({ to }) => to.target === 'pg');
    expect(withDriver.filter(({ from }) => !stores.test(from))).toEqual([]);
  });

  test('names single event types only where they are recorded', () => {
    const names = builtinTypes().map(({ type }) => `'${type}'`);
    const naming = files.filter((file) => {
      const code = codeOf(file).replaceAll(example, '');
      return names.some((name) => code.includes(name));
    });
    expect(naming).toContain('webhooks/webhook.ts');
    expect(naming.filter((file) => !mayNameTypes.test(file))).toEqual([]);
  });

  test('has no file over 350 lines', () => {
    const long = files.filter((file) => (sources.get(file) ?? '').split('\n').length - 1 > 350);
    expect(long).toEqual([]);
  });

  test('has no names like utils or helpers', () => {
    expect(
      files.filter((file) => /(^|[/-])(utils?|helpers?|common|misc|lib|shared)([/.-]|$)/.test(file)),
    ).toEqual([]);
  });
});

describe('the packages', () => {
  /** What each may import, apart from Node's own modules and third-party packages. */
  const mayImport: Record<string, readonly string[]> = {
    receiver: [],
    client: [],
    // It loads @posthorn/server only at run time, and only if that is installed.
    cli: [
      '@posthorn/receiver',
      '@posthorn/receiver/testing',
      '@posthorn/receiver/verdict',
      '@posthorn/client',
    ],
    demo: ['@posthorn/client', '@posthorn/receiver'],
    console: ['@posthorn/client', '@posthorn/receiver/verdict'],
    embedded: [],
    server: ['@posthorn/receiver', '@posthorn/demo', '@posthorn/embedded', '@posthorn/console', 'posthorn'],
  };

  const importsOfPackage = (name: string) => {
    const directory = join(packages, name, 'src');
    return readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) =>
        importsOf(file, readFileSync(join(directory, file), 'utf8')).map(({ target }) => ({ file, target })),
      );
  };

  test('are all known', () => {
    expect(readdirSync(packages).sort()).toEqual(Object.keys(mayImport).sort());
  });

  test.each(Object.entries(mayImport))('%s imports only %j of ours', (name, allowed) => {
    const found = importsOfPackage(name);
    expect(found.length).toBeGreaterThan(0);
    const wrong = found.filter(
      ({ target }) =>
        (/^(@posthorn\/|posthorn$)/.test(target) && !allowed.includes(target)) ||
        (target.startsWith('..') && !target.startsWith('../types/')),
    );
    expect(wrong).toEqual([]);
  });

  test('the server uses the demo only in its command', () => {
    const users = importsOfPackage('server').filter(({ target }) => target === '@posthorn/demo');
    expect(new Set(users.map(({ file }) => file))).toEqual(new Set(['cli/demo-run.ts']));
  });
});

/** Producers, which choose what they record, and the rule against loops. */
const mayNameTypes = /^(webhooks\/webhook|deliveries\/replay-store)\.ts$/;

/** What the reference shows for a field: `examples: ['a.b']`, or the last argument of a describing function. */
const example = /examples: \[+'[^\]]*'\]+|(?<=['`],\s+)'[^'\n]*'(?=,?\s*\))/g;

const sql =
  /\b(select\s[^;'"`]*?\sfrom\s+\w|insert\s+into\s+\w|update\s+[\w.]+(\s+\w+)?\s+set\s|delete\s+from\s+\w|(create|alter|drop)\s+(table|index|function|schema)\b)/i;

/** The text without its comments, in which people may speak of anything. */
function codeOf(file: string): string {
  return (sources.get(file) ?? '').replaceAll(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '$1');
}
