// biome-ignore lint/suspicious/noExplicitAny: JSON Schema has every shape
type Schema = any;

interface ApiDocument {
  paths: Record<string, Record<string, Schema>>;
  components: { schemas: Record<string, Schema> };
}

/**
 * Returns the TypeScript source of the types that the operations of a document use: a type for each component, and one
 * for the query of each operation. Bodies that only wrap `data` are left out, because the client unwraps them. Types
 * that `api.ts` has as well are imported from there.
 */
export function apiTypes(
  given: ApiDocument,
  isWanted: (operationId: string) => boolean,
  inApi: ApiDocument['components']['schemas'] = {},
): string {
  const document = withChoices(given);
  const operations = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .filter(({ operationId }) => isWanted(operationId))
    .map(({ callbacks: _, ...operation }) => operation);
  const { schemas } = document.components;
  const names = reachable(operations, schemas).filter(
    (name) => schemas[name].properties && !isWrapper(name, schemas[name]),
  );
  const isShared = (name: string) => JSON.stringify(schemas[name]) === JSON.stringify(inApi[name]);
  const own = names.sort().filter((name) => !isShared(name));
  const declared = new Map([
    ...own.map((name) => [name, membersOf(schemas[name])] as const),
    ...operations.flatMap(queryOf),
  ]);
  const bases = new Map([
    ...declared,
    ...Object.keys(inApi).map((name) => [name, membersOf(inApi[name])] as const),
  ]);
  const types = declarations(declared, bases);
  const imported = [...bases.keys()].filter(
    (name) => !declared.has(name) && new RegExp(`(: |extends |Omit<)${name}\\b`).test(types.join('')),
  );
  return [
    `// Generated from the OpenAPI document of the service. To change it, change the routes, then run\n// UPDATE_DOCS=1 npx vitest run packages/client/test/api-types.test.ts\n`,
    ...(imported.length > 0 ? [`import type { ${imported.join(', ')} } from './api.js';\n`] : []),
    ...types,
  ].join('\n');
}

/** Returns the document with the values of named choices in place of their names, as TypeScript can write them. */
function withChoices(document: ApiDocument): ApiDocument {
  const { schemas } = document.components;
  return JSON.parse(JSON.stringify(document), (_, value) => {
    const named = schemas[value?.$ref?.split('/').at(-1)];
    return named?.enum ? named : value;
  });
}

/** `Problem` is what `PosthornError` is made of. */
const isWrapper = (name: string, schema: Schema) =>
  /^(Problem|InputError|NoBody)$/.test(name) || (/(Body|List)$/.test(name) && schema.properties?.data);

function reachable(operations: readonly Schema[], schemas: Record<string, Schema>): string[] {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, name] of JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name!)) continue;
      found.add(name!);
      visit(schemas[name!]);
    }
  };
  visit(operations);
  return [...found];
}

/** The source of each member of a type, by its name. */
type Members = ReadonlyMap<string, string>;

/** The fewest members that a type must share with another one to extend it. */
const sharedMin = 4;

/** Returns the types. A type that has the same members as another one extends it, so that they are written once. */
function declarations(types: ReadonlyMap<string, Members>, bases: ReadonlyMap<string, Members>): string[] {
  const parents = new Map<string, Parent>();
  const leadsTo = (from: string | undefined, name: string): boolean =>
    from !== undefined && (from === name || leadsTo(parents.get(from)?.base, name));
  // A base of which nothing is omitted is easier to read, so these are found first.
  for (const omittedMax of [0, 4])
    for (const [name, members] of types) {
      const [best] = [...bases]
        .filter(([base]) => !leadsTo(base, name) && base.endsWith('Query') === name.endsWith('Query'))
        .map(([base, given]) => parentOf(members, base, given))
        .filter(
          ({ shared, omitted }) => omitted.length <= omittedMax && shared.size >= sharedMin + omitted.length,
        )
        .sort((a, b) => b.shared.size - b.omitted.length - (a.shared.size - a.omitted.length));
      const isBase = [...parents.values()].some(({ base }) => base === name);
      if (best && !parents.has(name) && !isBase) parents.set(name, best);
    }
  return [...types].map(([name, members]) => {
    const parent = parents.get(name);
    const own = [...members].filter(([key]) => !parent?.shared.has(key)).map(([, text]) => text);
    const clause = parent ? `extends ${clauseOf(parent)} ` : '';
    return `export interface ${name} ${clause}{\n${own.map((text) => `${text}\n`).join('')}}\n`;
  });
}

interface Parent {
  base: string;
  shared: ReadonlySet<string>;
  omitted: readonly string[];
}

function parentOf(members: Members, base: string, given: Members): Parent {
  const shared = new Set([...members.keys()].filter((key) => members.get(key) === given.get(key)));
  return { base, shared, omitted: [...given.keys()].filter((key) => !shared.has(key)) };
}

const clauseOf = ({ base, omitted }: Parent) =>
  omitted.length === 0 ? base : `Omit<${base}, ${omitted.map((key) => `'${key}'`).join(' | ')}>`;

function queryOf(operation: Schema): [string, Members][] {
  const parameters = (operation.parameters ?? []).filter((one: Schema) => one.in === 'query');
  if (parameters.length === 0) return [];
  const name = operation.operationId.replace(/^[a-z]/, (letter: string) => letter.toUpperCase());
  const members = parameters.map((one: Schema) => {
    const type = one.required ? typeOf(one.schema) : `${typeOf(one.schema)} | undefined`;
    return [
      one.name,
      `${comment(one.description)}  ${one.name}${one.required ? '' : '?'}: ${type};`,
    ] as const;
  });
  return [[`${name}Query`, new Map(members)]];
}

function membersOf(schema: Schema): Members {
  const members = Object.entries(schema.properties ?? {}).map(([name, field]: [string, Schema]) => {
    const key = /^\w+$/.test(name) ? name : `'${name}'`;
    const optional = schema.required?.includes(name) ? '' : '?';
    return [name, `${comment(field.description)}  ${key}${optional}: ${typeOf(field)};`] as const;
  });
  return new Map(members);
}

const comment = (text: string | undefined) => (text === undefined ? '' : `  /** ${text} */\n`);

function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.enum) return schema.enum.map((value: unknown) => literal(value)).join(' | ');
  const types: string[] = [schema.type ?? 'unknown'].flat();
  // A value of any type.
  if (types.length > 3) return 'unknown';
  return types.map((type) => oneType(type, schema)).join(' | ');
}

const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value));

function oneType(type: string, schema: Schema): string {
  switch (type) {
    case 'array': {
      const items = typeOf(schema.items ?? {});
      return items.includes(' | ') ? `(${items})[]` : `${items}[]`;
    }
    case 'object': {
      if (Object.keys(schema.properties ?? {}).length > 0)
        return `{\n${[...membersOf(schema).values()].join('\n')}\n}`;
      const values = schema.additionalProperties;
      return `Record<string, ${typeof values === 'object' ? typeOf(values) : 'unknown'}>`;
    }
    case 'integer':
      return 'number';
    default:
      return type;
  }
}
