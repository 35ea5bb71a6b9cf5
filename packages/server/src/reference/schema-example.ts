import type { Schema } from '../web/api-document.js';

const depthMax = 8;
const sampleTime = '2026-11-15T09:30:00.000Z';
const sampleUlid = '01JAB3C4D5E6F7G8H9J0K1M2N3';

/** Returns a value that matches the schema: its example, or a value made from its type. */
export function schemaExample(schema: Schema, depth = 0): unknown {
  // An example can also be null.
  if (schema.examples?.[0] === null) return null;
  const known = schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0];
  if (known !== undefined || depth > depthMax) return known;
  const [first] = (schema.anyOf ?? []).filter((option) => option.type !== 'null');
  if (first) return schemaExample(first, depth + 1);
  switch (schema.type) {
    case 'array':
      return [schemaExample(schema.items ?? {}, depth + 1)];
    case 'string':
      return textExample(schema);
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          // Leave out optional fields that have no example.
          .filter(([name, property]) => schema.required?.includes(name) || property.examples)
          .map(([name, property]) => [name, schemaExample(property, depth + 1)]),
      );
    default:
      return null;
  }
}

function textExample({ format, pattern = '' }: Schema): string {
  if (format === 'date-time') return sampleTime;
  const prefix = /^\^([A-Z]+-)/.exec(pattern)?.[1];
  return prefix === undefined ? '…' : prefix + sampleUlid;
}
