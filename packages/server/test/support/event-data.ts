import { createCatalogue, type EventType } from '../../src/catalogue/catalogue.js';
import type { Schema } from '../../src/web/api-document.js';

/**
 * The source file that gives receivers the types of `data`. Printed, so that the receiver package needs neither
 * the server nor the schemas, and nobody writes a type down twice.
 */
export function eventDataSource(): string {
  return `// Generated from the server's catalogue. To change it, change the catalogue, then run
// UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

/** The type of \`data\` in the envelope of an event, by event type. */
export interface EventData {
${createCatalogue().list().map(member).join('\n')}
}
`;
}

/** The source file that has the sample of each type, for the requests that receivers make in their tests. */
export function eventSamplesSource(): string {
  const samples = createCatalogue()
    .list()
    .map(({ type, sample }) => `  '${type}': ${literal(sample, '  ')},`);
  return `import type { EventData } from './event-data.js';

// Generated from the server's catalogue. To change it, change the catalogue, then run
// UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

/** A realistic example of \`data\` for each event type. */
export const eventSamples: EventData = {
${samples.join('\n')}
};
`;
}

/** The value as the formatter writes it. */
function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') return value.includes("'") ? JSON.stringify(value) : `'${value}'`;
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, indent)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = Object.entries(value).map(
    ([name, each]) => `${indent}  ${name}: ${literal(each, `${indent}  `)},`,
  );
  return `{\n${fields.join('\n')}\n${indent}}`;
}

function member({ type, description, schema }: EventType): string {
  const { properties = {}, required = [] } = schema as Schema;
  const fields = Object.entries(properties).map(([name, field]) => {
    const optional = required.includes(name) ? '' : '?';
    return `    ${comment(field.description)}\n    ${name}${optional}: ${typeOf(field)};`;
  });
  return `  ${comment(description)}\n  '${type}': {\n${fields.join('\n')}\n  };`;
}

const comment = (text = '') => `/** ${text} */`;

function typeOf(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ');
  if (schema.type === 'array') return `${typeOf(schema.items ?? {})}[]`;
  const known = words[String(schema.type)];
  if (known === undefined) throw new Error(`no TypeScript type is known for ${JSON.stringify(schema)}`);
  return known;
}

const words: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};
