import type { ApiDocument, Schema } from '../web/api-document.js';

const componentName = /^[A-Z][A-Za-z0-9]*$/;
const refTo = (name: string) => `#/components/schemas/${name}`;

/**
 * Moves the schemas of requests and responses to the document's components, so that generated code has one well-named
 * type for each. A schema is named after its title, and a body after its content or its operation.
 */
export function nameComponents(document: ApiDocument): void {
  const { schemas } = document.components;
  const named = (schema: Schema) => mapSchema(schema, (each) => hoisted(each));

  function hoisted(schema: Schema): Schema {
    const { title, examples: _, description, ...content } = schema;
    if (title === undefined || !componentName.test(title)) return schema;
    place(title, content);
    return { $ref: refTo(title), ...(description !== undefined && { description }) };
  }

  function place(name: string, content: Schema): void {
    const known = schemas[name];
    if (known && JSON.stringify(known) !== JSON.stringify(content))
      throw new Error(`The API document has two different schemas named ${name}.`);
    schemas[name] = content;
  }

  function body(schema: Schema, fallback: string): Schema {
    const { examples: _, ...content } = named(schema);
    if (content.type !== 'object') return content;
    const name = wrapperName(content) ?? fallback;
    place(name, content);
    return { $ref: refTo(name) };
  }

  if (schemas.Problem) schemas.Problem = named(schemas.Problem);
  for (const item of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(item)) {
      const id = (operation.operationId ?? '').replace(/^[a-z]/, (letter) => letter.toUpperCase());
      for (const media of Object.values(operation.requestBody?.content ?? {}))
        if (media.schema) media.schema = body(media.schema, `${id}Request`);
      for (const { content = {} } of Object.values(operation.responses ?? {}))
        for (const media of Object.values(content))
          if (media.schema) media.schema = body(media.schema, `${id}Response`);
    }
  }
}

/** Returns the name of a body that only wraps a named schema. */
function wrapperName({ properties = {} }: Schema): string | undefined {
  const { data, meta, event, ...others } = properties;
  if (!data || Object.keys(others).length > 0) return undefined;
  const [one, items, recorded] = [nameOf(data), nameOf(data.items), nameOf(event)];
  if (recorded) return `${recorded}Response`;
  if (one) return `${one}Response`;
  return items && meta ? `${items}List` : undefined;
}

function nameOf(schema: Schema | undefined): string | undefined {
  return schema?.$ref?.split('/').at(-1);
}

/** Returns the schema in the form that generators understand best, with the constraints that are checked in code. */
export function plainSchema(schema: Schema): Schema {
  return mapSchema(schema, (each) => nullableInPlace(typedEnum(constAsEnum(withDocumented(each)))));
}

/**
 * Adds the constraints that are checked in code. They are not in the original schema, because then each violation would
 * be reported twice.
 */
function withDocumented(schema: Schema): Schema {
  const { 'x-documented': documented, ...rest } = schema;
  return documented ? { ...rest, ...documented } : schema;
}

/** Replaces `const`, which many generators do not support. */
function constAsEnum(schema: Schema): Schema {
  const { const: value, ...rest } = schema;
  return value === undefined ? schema : { ...rest, enum: [value] };
}

function typedEnum(schema: Schema): Schema {
  if (schema.type !== undefined || !schema.enum?.every((value) => typeof value === 'string')) return schema;
  return { type: 'string', ...schema };
}

/**
 * Turns `anyOf` with a type and null into one schema with two types. A schema that becomes a reference keeps `anyOf`,
 * with the types next to it, because Scalar expects a type in every schema.
 */
function nullableInPlace(schema: Schema): Schema {
  const { anyOf, ...rest } = schema;
  const [value, nothing] = anyOf ?? [];
  if (anyOf?.length !== 2 || nothing?.type !== 'null' || typeof value?.type !== 'string') return schema;
  const types = [value.type, 'null'];
  if (value.title !== undefined) return { type: types, anyOf, ...rest };
  const { enum: choices, type: _, ...constraints } = value;
  return { type: types, ...constraints, ...(choices && { enum: [...choices, null] }), ...rest };
}

/** Returns the schema after applying `change` to it and to every schema inside it, innermost first. */
function mapSchema(schema: Schema, change: (schema: Schema) => Schema): Schema {
  const inner = (each: Schema) => mapSchema(each, change);
  const changed: Record<string, unknown> = { ...schema };
  for (const [key, value] of Object.entries(changed)) {
    if (typeof value !== 'object' || value === null) continue;
    if (key === 'properties' || key === 'patternProperties' || key === '$defs') {
      const entries = Object.entries(value as Record<string, Schema>);
      changed[key] = Object.fromEntries(entries.map(([name, each]) => [name, inner(each)]));
    } else if (key === 'anyOf' || key === 'oneOf' || key === 'allOf')
      changed[key] = (value as Schema[]).map(inner);
    else if (key === 'items' || key === 'additionalProperties') changed[key] = inner(value as Schema);
  }
  return change(changed as Schema);
}
