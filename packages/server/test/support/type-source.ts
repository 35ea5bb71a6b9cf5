import type { Schema } from '../../src/reference/components.js';

/** The TypeScript type of the values that a JSON Schema accepts. */
function typeOf(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ');
  if (schema.type === 'array') return `${typeOf(schema.items ?? {})}[]`;
  if (schema.type === 'object')
    return `{ ${Object.keys(schema.properties ?? {})
      .map((name) => memberOf(schema, name))
      .join(' ')} }`;
  const known = words[String(schema.type)];
  if (known === undefined) throw new Error(`no TypeScript type is known for ${JSON.stringify(schema)}`);
  return known;
}

/** A member of an object type. */
export function memberOf({ properties = {}, required = [] }: Schema, name: string): string {
  return `${name}${required.includes(name) ? '' : '?'}: ${typeOf(properties[name]!)};`;
}

const words: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};
