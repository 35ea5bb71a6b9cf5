import type { Schema } from '../../src/reference/components.js';

/** A schema of the catalogue: they refer to nothing and merge nothing. */
export interface FieldSchema extends Schema {
  maximum?: number;
}

/** Every field of an object, parents before what is in them: `items[].name` by its path. */
export function fieldsOf(
  schema: FieldSchema,
  path = '',
): { path: string; schema: FieldSchema; required: boolean }[] {
  if (schema.type === 'array') return fieldsOf(schema.items ?? {}, `${path}[]`);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const below = path === '' ? name : `${path}.${name}`;
    const required = schema.required?.includes(name) ?? false;
    return [{ path: below, schema: field, required }, ...fieldsOf(field, below)];
  });
}

/** What a value is: `string`, `array of strings`, `integer or null`. */
export function typeText(schema: Schema): string {
  return [...new Set(variants(schema).map(oneTypeText))].join(' or ');
}

function oneTypeText(schema: Schema): string {
  if (schema.type === 'array') return `array of ${typeText(schema.items ?? {})}s`;
  if (schema.enum) return 'string';
  return schema.format ?? String(schema.type ?? 'any');
}

const variants = (schema: FieldSchema): readonly FieldSchema[] => schema.anyOf ?? [schema];
