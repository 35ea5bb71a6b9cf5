import { domainOf, type EventType } from './catalogue.js';

/** A type as the database has it. A type that was removed keeps its row, so that no version is used twice. */
export interface StoredType extends Required<EventType> {
  in_use: boolean;
}

export interface CatalogueChange {
  added: readonly string[];
  /** A type whose schema is the same keeps its version. */
  changed: readonly { type: string; version: number; breaking: readonly string[] }[];
  removed: readonly string[];
}

/** Returns what changes, and the wanted types with their versions. */
export function changeOf(
  stored: readonly StoredType[],
  wanted: readonly EventType[],
): CatalogueChange & { types: readonly Required<EventType>[] } {
  const known = new Map(stored.map((one) => [one.type, one]));
  const types = wanted.map((one) => {
    const before = known.get(one.type);
    const isNext = before && (!before.in_use || canonical(before.schema) !== canonical(one.schema));
    return { ...one, version: (before?.version ?? 1) + (isNext ? 1 : 0) };
  });
  const current = new Map(stored.filter(({ in_use }) => in_use).map((one) => [one.type, one]));
  const names = new Set(wanted.map(({ type }) => type));
  return {
    types,
    added: types.filter(({ type }) => !current.has(type)).map(({ type }) => type),
    changed: types.flatMap((one) => {
      const before = current.get(one.type);
      if (!before || contentOf(before) === contentOf(one)) return [];
      return [{ type: one.type, version: one.version, breaking: breakingChanges(before.schema, one.schema) }];
    }),
    removed: [...current.keys()].filter((type) => !names.has(type)),
  };
}

/** Returns the entries of `event_types` that a change affects, and by which type each of them is affected. */
export function affectedSubscriptions(change: CatalogueChange): { entry: string; type: string }[] {
  const { changed, removed } = change;
  const breaking = changed.filter((one) => one.breaking.length > 0).map(({ type }) => type);
  return [
    ...[...removed, ...breaking].map((type) => ({ entry: type, type })),
    ...breaking.flatMap((type) => ['*', `${domainOf(type)}.*`].map((entry) => ({ entry, type }))),
  ];
}

const contentOf = ({ description, schema, sample }: EventType) =>
  JSON.stringify([description, canonical(schema), canonical(sample)]);

/** Returns JSON text in which the order of keys does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, each) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

/** The parts of JSON Schema that decide what a reader can rely on. */
interface Node {
  $ref?: string;
  type?: string | readonly string[];
  const?: unknown;
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, Node>>;
  required?: readonly string[];
  items?: Node | boolean;
  prefixItems?: readonly Node[];
  additionalProperties?: Node | boolean;
  allOf?: readonly Node[];
  anyOf?: readonly Node[];
  oneOf?: readonly Node[];
}

/** What a schema says about a value, with references and alternatives resolved. */
interface Shape {
  /** Empty if any type is allowed. */
  types: ReadonlySet<string>;
  /** Also has items: `[]` for all items of a list, `[0]` for the first one. `*` is any other property. */
  properties: ReadonlyMap<string, Node>;
  required: ReadonlySet<string>;
}

/**
 * Returns one sentence for each change between two schemas that can break a reader: a property was removed, its type
 * changed, or it is no longer required, at any depth.
 */
export function breakingChanges(before: object, after: object): readonly string[] {
  const found: string[] = [];
  // Schemas can be recursive, so each pair is compared only at the first path that leads to it.
  const compared = new Map<Node, Set<Node>>();
  compare({ schema: before, root: before }, { schema: after, root: after }, '');
  return found;

  function compare(older: Placed, newer: Placed, path: string): void {
    const known = compared.get(older.schema) ?? new Set();
    compared.set(older.schema, known);
    if (known.has(newer.schema)) return;
    known.add(newer.schema);
    const [was, is] = [shapeOf(older), shapeOf(newer)];
    const [types, newTypes] = [wordsOf(was), wordsOf(is)];
    if (path !== '' && types !== newTypes) {
      found.push(`The type of ${path} changed from ${types} to ${newTypes}.`);
      return;
    }
    for (const [name, schema] of was.properties) {
      const place = name.startsWith('[') ? path + name : path === '' ? name : `${path}.${name}`;
      const next = is.properties.get(name);
      if (next === undefined) {
        const type = wordsOf(shapeOf({ schema, root: older.root }));
        if (!name.startsWith('[')) found.push(`${place} was removed.`);
        else if (type !== any) found.push(`The type of ${place} changed from ${type} to ${any}.`);
        continue;
      }
      if (was.required.has(name) && !is.required.has(name)) found.push(`${place} is no longer required.`);
      compare({ schema, root: older.root }, { schema: next, root: newer.root }, place);
    }
  }
}

/** A schema, and the one that its references start from. */
interface Placed {
  schema: Node;
  root: Node;
}

const any = 'any type';
const wordsOf = ({ types }: Shape) => (types.size === 0 ? any : [...types].sort().join(' or '));

function shapeOf({ schema, root }: Placed, seen = new Set<Node>()): Shape {
  const { $ref, properties = {}, items, prefixItems = [], additionalProperties: others } = schema;
  seen.add(schema);
  const parts = (of: readonly Node[] = []) =>
    of.flatMap((one) => (seen.has(one) ? [] : [shapeOf({ schema: one, root }, seen)]));
  const target = $ref === undefined ? undefined : targetOf($ref, root);
  const together = parts([...(schema.allOf ?? []), ...(target ? [target] : [])]);
  const options = [parts(schema.anyOf), parts(schema.oneOf)].filter(({ length }) => length > 0);
  // An alternative without properties, such as null, has no required ones.
  const requiredByOptions = options.flatMap((each) => {
    const objects = each.filter((one) => one.properties.size > 0);
    return [...(objects[0]?.required ?? [])].filter((name) => objects.every((one) => one.required.has(name)));
  });
  const all = [...together, ...options.flat()];
  return {
    types:
      [ownTypes(schema), ...together.map(({ types }) => types), ...options.map(unionOf)].find(
        (types) => types.size > 0,
      ) ?? new Set(),
    properties: new Map([
      ...all.flatMap((one) => [...one.properties]),
      ...(typeof others === 'object' ? [['*', others] as const] : []),
      ...(typeof items === 'object' ? [['[]', items] as const] : []),
      ...prefixItems.map((item, index) => [`[${index}]`, item] as const),
      ...Object.entries(properties),
    ]),
    required: new Set([
      ...(schema.required ?? []),
      ...together.flatMap((one) => [...one.required]),
      ...requiredByOptions,
    ]),
  };
}

/** Returns the types of the alternatives, or none if one of them allows any type. */
function unionOf(options: readonly Shape[]): ReadonlySet<string> {
  if (options.some(({ types }) => types.size === 0)) return new Set();
  return new Set(options.flatMap(({ types }) => [...types]));
}

function ownTypes({ type, const: value, enum: values }: Node): ReadonlySet<string> {
  if (type !== undefined) return new Set([type].flat());
  const listed = value === undefined ? (values ?? []) : [value];
  return new Set(listed.map(typeOf));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Returns what a reference inside a schema leads to. */
function targetOf(reference: string, root: Node): Node | undefined {
  if (!reference.startsWith('#')) return undefined;
  const steps = decodeURIComponent(reference.slice(1)).split('/').slice(1);
  let place: unknown = root;
  for (const step of steps)
    place = (place as Record<string, unknown> | undefined)?.[
      step.replaceAll('~1', '/').replaceAll('~0', '~')
    ];
  return typeof place === 'object' && place !== null ? place : undefined;
}
