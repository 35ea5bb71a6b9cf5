import { patternInWords } from '../domain/pattern.js';
import type { ApiDocument, MediaType, Parameter, Schema } from './api-document.js';

/** A field of a body, `data[].actor.type` by its path. */
export interface Field {
  path: string;
  schema: Schema;
  required: boolean;
}

const depthMax = 8;
const sampleTime = '2026-11-15T09:30:00.000Z';
const sampleUlid = '01JAB3C4D5E6F7G8H9J0K1M2N3';

/** Follows references and merges `allOf`, so that what is left can be looked at directly. */
export function resolved(document: ApiDocument, schema: Schema | undefined, depth = 0): Schema {
  if (!schema || typeof schema !== 'object' || depth > depthMax) return {};
  if (schema.$ref !== undefined) {
    const { $ref, ...rest } = schema;
    return { ...resolved(document, pointedAt(document, $ref), depth + 1), ...rest };
  }
  if (schema.allOf) {
    const { allOf, ...rest } = schema;
    return allOf.map((part) => resolved(document, part, depth + 1)).reduce(merged, rest);
  }
  return schema;
}

function merged(a: Schema, b: Schema): Schema {
  return {
    ...b,
    ...a,
    ...((a.properties || b.properties) && { properties: { ...a.properties, ...b.properties } }),
    ...((a.required || b.required) && { required: [...(a.required ?? []), ...(b.required ?? [])] }),
  };
}

function pointedAt(document: ApiDocument, pointer: string): Schema | undefined {
  let place: unknown = document;
  for (const step of pointer.replace(/^#\//, '').split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    place =
      typeof place === 'object' && place !== null && Object.hasOwn(place, name)
        ? (place as Record<string, unknown>)[name]
        : undefined;
  }
  return place as Schema | undefined;
}

/** The alternatives of a schema; itself where there are none. */
function variants(document: ApiDocument, schema: Schema, depth = 0): readonly Schema[] {
  const whole = resolved(document, schema);
  const options = whole.anyOf ?? whole.oneOf;
  if (!options || depth > depthMax) return [whole];
  return options.flatMap((option) => variants(document, option, depth + 1));
}

/** What a value is, in words: `string`, `array of Event`, `integer or null`. */
export function typeText(document: ApiDocument, schema: Schema | undefined): string {
  const words = variants(document, schema ?? {}).map((variant) => oneTypeText(document, variant));
  return [...new Set(words)].join(' or ');
}

function oneTypeText(document: ApiDocument, schema: Schema): string {
  if (schema.type === 'array') return `array of ${typeText(document, schema.items)}`;
  if (schema.title !== undefined) return schema.title;
  if (schema.format !== undefined) return schema.format;
  if (schema.type !== undefined) return [schema.type].flat().join(' or ');
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  return [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))].join(' or ') || 'any';
}

/** What a value is held to, as phrases of Markdown. */
export function limits(document: ApiDocument, schema: Schema | undefined): string[] {
  const all = variants(document, schema ?? {}).filter((variant) => variant.type !== 'null');
  const phrases = all.flatMap((variant) => [
    ...choices(variant, all.length === 1),
    ...span(variant.minimum, variant.maximum, () => ''),
    ...(variant.exclusiveMinimum === undefined ? [] : [`above ${variant.exclusiveMinimum}`]),
    ...(variant.exclusiveMaximum === undefined ? [] : [`below ${variant.exclusiveMaximum}`]),
    ...lengths(variant),
    ...span(variant.minItems, variant.maxItems, plural(' item')),
    ...(variant.pattern === undefined
      ? []
      : [patternInWords(variant.pattern) ?? `matches \`${variant.pattern}\``]),
  ]);
  return [...new Set(phrases)];
}

function choices({ const: only, enum: several }: Schema, isAlone: boolean): string[] {
  const values = several ?? (only === undefined ? [] : [only]);
  const words = values.map((value) => `\`${shown(value)}\``).join(', ');
  if (values.length > 1) return [`one of ${words}`];
  if (values.length === 0) return [];
  return [isAlone ? `always ${words}` : `may be ${words}`];
}

/** That a text is not empty goes without saying. */
function lengths({ minLength, maxLength }: Schema): string[] {
  const min = minLength === 1 && maxLength === undefined ? undefined : minLength;
  return span(min, maxLength, plural(' character'));
}

function span(min: number | undefined, max: number | undefined, unit: (count: number) => string): string[] {
  if (min !== undefined && max !== undefined) return [`${number(min)} to ${number(max)}${unit(max)}`];
  if (max !== undefined) return [`at most ${number(max)}${unit(max)}`];
  if (min !== undefined) return [`at least ${number(min)}${unit(min)}`];
  return [];
}

const plural = (noun: string) => (count: number) => `${noun}${count === 1 ? '' : 's'}`;

const number = (value: number) => value.toLocaleString('en-US');

/** A value as it would be typed: strings without their quotes. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Every field of a body, parents before what is in them. */
export function fieldsOf(document: ApiDocument, schema: Schema | undefined, path = '', depth = 0): Field[] {
  if (depth > depthMax) return [];
  const fields: Field[] = [];
  const seen = new Set<string>();
  for (const variant of variants(document, schema ?? {})) {
    // An event and an array of events have the same fields: they are told once.
    const object = variant.type === 'array' && path === '' ? resolved(document, variant.items) : variant;
    const key = JSON.stringify(object);
    if (seen.has(key)) continue;
    seen.add(key);
    if (object.type === 'array') fields.push(...fieldsOf(document, object.items, `${path}[]`, depth + 1));
    for (const [name, property] of Object.entries(object.properties ?? {})) {
      const propertyPath = path === '' ? name : `${path}.${name}`;
      const propertySchema = resolved(document, property);
      const required = object.required?.includes(name) ?? false;
      fields.push({ path: propertyPath, schema: propertySchema, required });
      fields.push(...fieldsOf(document, propertySchema, propertyPath, depth + 1));
    }
  }
  return fields;
}

/** A value to show for a body: the one that is given, or one made from the schema. */
export function exampleOf(document: ApiDocument, media: MediaType): unknown {
  return given(media) ?? sample(document, media.schema);
}

/** A value to show for a parameter; undefined where nothing is known of it. */
export function parameterExample(document: ApiDocument, parameter: Parameter): unknown {
  const schema = resolved(document, parameter.schema);
  return given(parameter) ?? schema.example ?? schema.examples?.[0] ?? identifier(schema);
}

function given({ example, examples }: Pick<MediaType, 'example' | 'examples'>): unknown {
  return example ?? Object.values(examples ?? {})[0]?.value;
}

function sample(document: ApiDocument, schema: Schema | undefined, depth = 0): unknown {
  const whole = resolved(document, schema);
  // Null is an example too.
  if (whole.examples?.[0] === null) return null;
  const known = whole.example ?? whole.examples?.[0] ?? whole.const ?? whole.default ?? whole.enum?.[0];
  if (known !== undefined || depth > depthMax) return known;
  const [first = {}] = variants(document, whole).filter((variant) => variant.type !== 'null');
  if (first !== whole && !(first.anyOf ?? first.oneOf)) return sample(document, first, depth + 1);
  switch ([first.type].flat()[0]) {
    case 'array':
      return [sample(document, first.items, depth + 1)];
    case 'string':
      return sampleText(first);
    case 'integer':
    case 'number':
      return first.minimum ?? 1;
    case 'boolean':
      return true;
    case 'object':
      return Object.fromEntries(
        Object.entries(first.properties ?? {})
          // What may be left out is left out, unless somebody thought of an example.
          .filter(([name, property]) => {
            const { example, examples } = resolved(document, property);
            return first.required?.includes(name) || (examples ?? example);
          })
          .map(([name, property]) => [name, sample(document, property, depth + 1)]),
      );
    default:
      return null;
  }
}

function sampleText({ format, pattern }: Schema): string {
  if (format === 'date-time') return sampleTime;
  if (format === 'date') return sampleTime.slice(0, 10);
  if (format === 'uri') return 'https://example.com/webhooks';
  return identifier({ pattern }) ?? '…';
}

/** An id of ours, where the pattern begins with the prefix of one. */
function identifier({ pattern = '' }: { pattern?: string | undefined }): string | undefined {
  const prefix = /^\^([A-Z]+-)/.exec(pattern)?.[1];
  return prefix && prefix + sampleUlid;
}
