import type { Schema } from '../../src/reference/components.js';
import { patternInWords } from '../../src/values/pattern.js';

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

/** What a value is held to, as phrases: the limits that the description does not state. No number is negative. */
export function limits(schema: FieldSchema): string[] {
  return limitsOf(schema).filter((phrase) => {
    const values = phrase.match(/[A-Z]+-|p\d|`\w+`/g) ?? [];
    return values.length === 0 || !values.every((value) => schema.description?.includes(value));
  });
}

function limitsOf(schema: FieldSchema): string[] {
  return variants(schema).flatMap(({ minimum, maximum, pattern, enum: choices }) => [
    ...(choices ? [`one of ${choices.map((choice) => `\`${choice}\``).join(', ')}`] : []),
    ...(minimum === undefined || (minimum === 0 && maximum === undefined)
      ? []
      : [maximum === undefined ? `at least ${minimum}` : `${minimum} to ${maximum}`]),
    ...(pattern === undefined ? [] : [patternInWords(pattern) ?? `matches \`${pattern}\``]),
  ]);
}

const variants = (schema: FieldSchema): readonly FieldSchema[] => schema.anyOf ?? [schema];
