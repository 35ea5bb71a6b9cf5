/** The parts of JSON Schema that our schemas use. */
export interface Schema {
  $ref?: string;
  /** The name of the schema among the components of the document. */
  title?: string;
  description?: string;
  type?: string | readonly string[];
  format?: string;
  pattern?: string;
  const?: unknown;
  enum?: readonly unknown[];
  default?: unknown;
  examples?: readonly unknown[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  properties?: Record<string, Schema>;
  required?: readonly string[];
  items?: Schema;
  minimum?: number;
  /** Constraints that only the document contains: the service checks them in code, with its own messages. */
  'x-documented'?: Schema & Record<string, unknown>;
}

const componentName = /^[A-Z][A-Za-z0-9]*$/;
const refTo = (name: string) => `#/components/schemas/${name}`;

/**
 * The schemas of requests and responses that have a name, so that generated code has one well-named type for each. A
 * schema is named after its title, and a body after its content or its operation.
 */
export class Components {
  readonly schemas: Record<string, Schema> = {};

  /** Returns the schema in its plain form, with references to the schemas inside it that have a name. */
  named(schema: object): Schema {
    return mapSchema(plainSchema(schema), (each) => {
      const { title, examples: _, description, ...content } = each;
      if (title === undefined || !componentName.test(title)) return each;
      return { ...this.#place(title, content), ...(description !== undefined && { description }) };
    });
  }

  /** Returns a reference to the schema of a body. */
  body(schema: object, fallback: string): Schema {
    const { examples: _, ...content } = this.named(schema);
    return content.type === 'object' || content.anyOf
      ? this.#place(wrapperName(content) ?? fallback, content)
      : content;
  }

  #place(name: string, content: Schema): Schema {
    const known = this.schemas[name];
    if (known && JSON.stringify(known) !== JSON.stringify(content))
      throw new Error(`The API document has two different schemas named ${name}.`);
    this.schemas[name] = content;
    return { $ref: refTo(name) };
  }
}

/**
 * Returns the name of a body that only wraps a named schema. No name ends in `Response`: Go generators use
 * `ReplayResponse` for what the operation `replay` returns, including its status.
 */
function wrapperName({ properties = {} }: Schema): string | undefined {
  const { data, meta, event, ...others } = properties;
  if (!data || Object.keys(others).length > 0) return undefined;
  const [one, items, recorded] = [nameOf(data), nameOf(data.items), nameOf(event)];
  if (recorded) return `${recorded}Body`;
  if (one) return `${one}Body`;
  return items && meta ? `${items}List` : undefined;
}

function nameOf(schema: Schema | undefined): string | undefined {
  return schema?.$ref?.split('/').at(-1);
}

/** Returns the schema in the form that generators understand best, with the constraints that are checked in code. */
export function plainSchema(schema: object): Schema {
  return mapSchema(schema, ({ 'x-documented': documented, const: value, ...rest }) => {
    const each = { ...rest, ...(value !== undefined && { enum: [value] }), ...documented };
    // Generators have no type for values of several types.
    if (each.type && [each.type].flat().filter((type) => type !== 'null').length > 1) return anyValue(each);
    const isText = each.type === undefined && each.enum?.every((one) => typeof one === 'string');
    return nullableInPlace(isText ? { type: 'string', ...each } : each);
  });
}

function anyValue({ description, examples }: Schema): Schema {
  return { ...(description !== undefined && { description }), ...(examples && { examples }) };
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
function mapSchema(schema: object, change: (schema: Schema) => Schema): Schema {
  const inner = (each: object) => mapSchema(each, change);
  const changed: Record<string, unknown> = { ...schema };
  for (const [key, value] of Object.entries(changed)) {
    if (typeof value !== 'object' || value === null) continue;
    if (/^(properties|patternProperties|\$defs)$/.test(key)) {
      const entries = Object.entries(value as Record<string, object>);
      changed[key] = Object.fromEntries(entries.map(([name, each]) => [name, inner(each)]));
    } else if (/^(anyOf|oneOf|allOf)$/.test(key)) changed[key] = (value as object[]).map(inner);
    else if (key === 'items' || key === 'additionalProperties') changed[key] = inner(value);
  }
  return change(changed as Schema);
}

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
