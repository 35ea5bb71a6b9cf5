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
  document: ApiDocument,
  isWanted: (operationId: string) => boolean,
  inApi: ApiDocument['components']['schemas'] = {},
): string {
  const operations = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .filter(({ operationId }) => isWanted(operationId));
  const { schemas } = document.components;
  const names = reachable(operations, schemas).filter((name) => !isWrapper(name, schemas[name]));
  const isShared = (name: string) => JSON.stringify(schemas[name]) === JSON.stringify(inApi[name]);
  const own = names.sort().filter((name) => !isShared(name));
  const types = own.map((name) => declaration(name, schemas[name]));
  const queries = operations.flatMap(queryOf);
  const imported = names.filter((name) => isShared(name) && new RegExp(`: ${name}\\b`).test(types.join('')));
  return [
    `// Generated from the OpenAPI document of the service. To change it, change the routes, then run\n// UPDATE_DOCS=1 npx vitest run packages/client/test/api-types.test.ts\n`,
    ...(imported.length > 0 ? [`import type { ${imported.join(', ')} } from './api.js';\n`] : []),
    ...types,
    ...queries,
  ].join('\n');
}

/** `Problem` is what `PosthornError` is made of. */
const isWrapper = (name: string, schema: Schema) =>
  /^(Problem|InputError|NoBody)$/.test(name) || (/(Response|List)$/.test(name) && schema.properties?.data);

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

function declaration(name: string, schema: Schema): string {
  return `export interface ${name} ${fields(schema)}\n`;
}

function queryOf(operation: Schema): string[] {
  const parameters = (operation.parameters ?? []).filter((one: Schema) => one.in === 'query');
  if (parameters.length === 0) return [];
  const name = operation.operationId.replace(/^[a-z]/, (letter: string) => letter.toUpperCase());
  const lines = parameters.map((one: Schema) => {
    const type = one.required ? typeOf(one.schema) : `${typeOf(one.schema)} | undefined`;
    return `${comment(one.description)}  ${one.name}${one.required ? '' : '?'}: ${type};`;
  });
  return [`export interface ${name}Query {\n${lines.join('\n')}\n}\n`];
}

function fields(schema: Schema): string {
  const lines = Object.entries(schema.properties ?? {}).map(([name, field]: [string, Schema]) => {
    const key = /^\w+$/.test(name) ? name : `'${name}'`;
    const optional = schema.required?.includes(name) ? '' : '?';
    return `${comment(field.description)}  ${key}${optional}: ${typeOf(field)};`;
  });
  return `{\n${lines.join('\n')}\n}`;
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
      if (Object.keys(schema.properties ?? {}).length > 0) return fields(schema);
      const values = schema.additionalProperties;
      return `Record<string, ${typeof values === 'object' ? typeOf(values) : 'unknown'}>`;
    }
    case 'integer':
      return 'number';
    default:
      return type;
  }
}
