import type { EventType, PreviewedEvent } from '@posthorn/client';
import type { JsonSchema } from '../event-types/event-types';
import { type Kind, kindOf, pathToValue, type Scalar } from './filter-rules';

/** A field that a filter can be about, as the schemas and the newest events show it. */
export interface Field {
  path: readonly string[];
  kinds: Set<Kind>;
  /** Whether `values` has all that there can be. */
  isClosed: boolean;
  values: Set<Scalar>;
}

/** How many levels a filter may have. */
const levelsMax = 5;
const valuesMax = 20;

/** Returns the fields of these event types, and of these events, by their names. */
export function fieldsOf(
  types: readonly EventType[],
  events: readonly PreviewedEvent[],
): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>();
  const fieldAt = (path: readonly string[]): Field => {
    const name = path.join('.');
    const field = fields.get(name) ?? { path, kinds: new Set(), isClosed: false, values: new Set() };
    fields.set(name, field);
    return field;
  };
  const addSchema = (schema: JsonSchema, path: readonly string[]): void => {
    for (const one of schema.anyOf ?? []) addSchema(one, path);
    if (schema.items) addSchema(schema.items, path);
    const choices = (schema.const === undefined ? schema.enum : [schema.const]) as Scalar[] | undefined;
    const types = [schema.type ?? []].flat().map((type) => (type === 'integer' ? 'number' : type));
    const kinds = types.filter((type) => /^(string|number|boolean|null)$/.test(type)) as Kind[];
    if (path.length > 1 && (kinds.length > 0 || choices)) {
      const field = fieldAt(path);
      for (const kind of [...kinds, ...(choices ?? []).map(kindOf)]) field.kinds.add(kind);
      for (const value of choices ?? (kinds.includes('boolean') ? [true, false] : []))
        field.values.add(value);
      field.isClosed = choices !== undefined || kinds.every((kind) => kind === 'boolean');
    }
    if (path.length > levelsMax) return;
    for (const [name, inner] of Object.entries(schema.properties ?? {})) addSchema(inner, [...path, name]);
  };
  const addValue = (value: unknown, path: readonly (string | number)[]): void => {
    if (typeof value === 'object' && value !== null) {
      if (path.length > levelsMax) return;
      const isList = Array.isArray(value);
      for (const [name, inner] of Object.entries(value))
        addValue(inner, [...path, isList ? Number(name) : name]);
      return;
    }
    const at = pathToValue(path);
    if (!at) return;
    const field = fieldAt(at);
    const scalar = value as Scalar;
    if (!field.isClosed || !field.values.has(scalar)) field.kinds.add(kindOf(scalar));
    if (field.values.size < valuesMax) field.values.add(scalar);
  };
  for (const name of ['subject_type', 'subject_id', 'actor_type', 'actor_id', 'workspace_id'])
    fieldAt([name]).kinds.add('string');
  for (const { schema } of types) addSchema(schema as JsonSchema, ['payload']);
  for (const event of events) addValue(event, []);
  return fields;
}
