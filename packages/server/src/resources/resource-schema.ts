import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import Type, { type TObject, type TSchema } from 'typebox';
import type { Resources } from '../../types/resources.js';
import type { EventTypeName } from '../catalogue/catalogue.js';
import { builtinData, builtinTypes } from '../catalogue/catalogue-file.js';
import { NewEventSchema } from '../events/new-event.js';
import { type Fault, faultsFromAjv, pointerTo } from '../values/fault.js';
import { unstorableFaults } from '../values/storable.js';

const { organization_id, workspace_id, actor } = NewEventSchema.properties;
const instant = (description: string) => Type.String({ format: 'date-time', description });

type Fields = Readonly<Record<string, TSchema>>;

/** By event type: the fields of its payload in the order of the catalogue, each with its sample as an example. */
const fieldsOfTypes = new Map(
  builtinTypes().map(({ type, schema, sample }) => {
    const fields = Object.entries((schema as TObject).properties);
    return [
      type,
      Object.fromEntries(fields.map(([name, field]) => [name, { ...field, examples: [sample[name]] }])),
    ];
  }),
);

export function payloadFields(type: EventTypeName): Fields {
  return fieldsOfTypes.get(type)!;
}

export function isNullable(schema: TSchema): boolean {
  const { anyOf = [] } = schema as { anyOf?: readonly { type?: string }[] };
  return anyOf.some(({ type }) => type === 'null');
}

function attributeSchema(name: string, attribute: Attribute): TSchema {
  return 'schema' in attribute ? attribute.schema : payloadFields(attribute.of)[name]!;
}

/** Returns the schema of a creation request. */
export function creationSchema({ attributes }: Lifecycle): TObject {
  const given = Object.entries(attributes).filter(([, { counts }]) => counts === undefined);
  const fields = given.map(([name, attribute]) => {
    const schema = attributeSchema(name, attribute);
    return [name, attribute.required ? schema : Type.Optional(schema)];
  });
  return Type.Object(
    { organization_id, workspace_id, actor, ...Object.fromEntries(fields) },
    { additionalProperties: false },
  );
}

/**
 * Returns the schema of a move request: the fields of its event, except those that are already known. For a changed
 * attribute, the event has `new_severity`, for example, and the request has `severity`.
 */
export function moveSchema(lifecycle: Lifecycle, move: Move): TObject {
  const fields: Record<string, TSchema> = {};
  for (const [payloadField, schema] of Object.entries(payloadFields(move.event))) {
    const field = requestField(lifecycle, payloadField);
    if (field === undefined) continue;
    const attribute = lifecycle.attributes[field];
    // If an attribute is nullable, the schema of the move's event decides whether null is allowed here.
    const own = attribute && attributeSchema(field, attribute);
    const { examples } = schema as { examples?: readonly unknown[] };
    const accepted = own && !isNullable(own) ? { ...own, examples } : schema;
    fields[field] = move.needs?.includes(field) ? accepted : Type.Optional(accepted);
  }
  return Type.Object({ actor, ...fields }, { additionalProperties: false });
}

/** Returns the name that a request uses for a field of the payload, or undefined if a request cannot set it. */
function requestField({ attributes }: Lifecycle, payloadField: string): string | undefined {
  if (['id', 'status', 'new_status'].includes(payloadField) || payloadField.startsWith('previous_'))
    return undefined;
  if (Object.values(attributes).some(({ counts }) => counts === payloadField)) return undefined;
  return payloadField.replace(/^new_/, '');
}

/** Returns the schema of the resource in responses. */
export function resourceSchema(lifecycle: Lifecycle): TObject {
  const { kind, prefix, attributes } = lifecycle;
  const shown = Object.entries(attributes).map(([name, attribute]) => {
    const schema = attributeSchema(name, attribute);
    const { required, fallback } = attribute;
    const isAlwaysSet = required || (fallback && 'value' in fallback);
    if (isAlwaysSet || isNullable(schema)) return [name, schema];
    const { description, examples, ...value } = schema as TSchema & {
      description: string;
      examples: unknown;
    };
    return [name, Type.Union([value, Type.Null()], { description, examples })];
  });
  return Type.Object(
    {
      id: Type.String({ pattern: `^${prefix}-`, description: 'ID.' }),
      type: Type.Enum([kind], { description: 'Type, as in the subject of events.' }),
      organization_id,
      workspace_id: Type.Union([Type.String({ pattern: '^WS-' }), Type.Null()], {
        description: 'Workspace ID. Null if the resource belongs to the whole organization.',
        examples: ['WS-berlin'],
      }),
      status: Type.Enum([...statusesOf(lifecycle)], { description: 'Status. Only moves change it.' }),
      ...Object.fromEntries(shown),
      created_at: instant('Time of creation.'),
      updated_at: instant('Time of the latest move.'),
    },
    { title: titleOf(kind), additionalProperties: false },
  );
}

/** Turns `service_line` into `ServiceLine`. */
export function titleOf(kind: string): string {
  return kind.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export type InputChecker = (input: unknown) => readonly Fault[];

/** The schemas are our own, so they are not validated at run time. The tests of the OpenAPI document validate them. */
const ajv = new Ajv2020({
  allErrors: true,
  strict: false,
  strictNumbers: true,
  verbose: true,
  validateSchema: false,
});
addFormats.default(ajv);

/**
 * Returns a checker that finds every fault in a request. It compiles its schema on first use, because there are many
 * schemas.
 */
export function createInputChecker(schema: TObject): InputChecker {
  let isValid: ValidateFunction | undefined;
  return (input) => {
    isValid ??= ajv.compile(schema);
    // A missing body counts as an empty object, so that each required field is reported.
    const given = input ?? {};
    const faults = isValid(given) ? [] : faultsFromAjv(isValid.errors, given);
    return [...faults, ...unstorableFaults(given), ...inexactFaults(given)];
  };
}

/** Finds integers that lost digits when they were parsed, because the stored values would silently be wrong. */
function inexactFaults(input: unknown): readonly Fault[] {
  if (typeof input !== 'object' || input === null) return [];
  return Object.entries(input)
    .filter(([, value]) => Number.isInteger(value) && !Number.isSafeInteger(value))
    .map(([name]) => ({
      pointer: pointerTo('', name),
      code: 'too_large',
      detail: `must be at most ${Number.MAX_SAFE_INTEGER}`,
    }));
}

/** A type of resource: its attributes, its statuses and the moves between them. */
export interface Lifecycle {
  /** The `type` of the subject in its events. */
  readonly kind: string;
  readonly prefix: string;
  /** The fields that describe the resource, in display order. */
  readonly attributes: Readonly<Record<string, Attribute>>;
  readonly creation: { readonly to: string; readonly event?: EventTypeName };
  readonly moves: Readonly<Record<string, Move>>;
}

export type Attribute = AttributeOrigin & {
  readonly required?: true;
  /** The value if the creation request omits it. Without a fallback, the value is null. */
  readonly fallback?: Fallback;
  /**
   * The name of an event field. Each move whose event has that field increments the attribute, which is read-only.
   */
  readonly counts?: string;
};

/**
 * Where the schema of an attribute comes from: the field with the same name in the payload of an event type
 * or, if no event has such a field, a schema of its own.
 */
type AttributeOrigin = { readonly of: EventTypeName } | { readonly schema: TSchema };

export interface Move {
  /** For the API reference, if the name of the move is not self-explanatory. */
  readonly summary?: string;
  /** The new status for each status that allows the move. */
  readonly transitions: Readonly<Record<string, string>>;
  readonly event: EventTypeName;
  /** Fields that a request must have. */
  readonly needs?: readonly string[];
  /** Fields that go only into the event, although the resource has attributes with the same names. */
  readonly eventOnly?: readonly string[];
  /** Fields of the payload that are filled in if the request leaves them out. */
  readonly fills?: Readonly<Record<string, Fill>>;
}

/** A fixed value, or the ID of the actor if the actor has the given type. */
export type Fallback = { readonly value: string | number } | { readonly actor: string };

/** A fallback, the time of the move, or the milliseconds that the resource spent in its previous status. */
export type Fill = Fallback | 'now' | 'elapsed';

/** The names of the resources, as they appear in paths. */
export type ResourceName = keyof Resources;

/**
 * The resources with a lifecycle, by their names in paths. Code, SQL, types, diagrams, OpenAPI and tests are derived
 * from this table. The catalogue describes the events and their fields.
 */
export const lifecycles = builtinData('lifecycles.json') as Readonly<Record<ResourceName, Lifecycle>>;

/** One row of the table of moves. A creation has no `from`. */
export interface Transition {
  readonly move: string;
  readonly from: string | null;
  readonly to: string;
  readonly event: EventTypeName | undefined;
}

export function transitionsOf({ creation, moves }: Lifecycle): readonly Transition[] {
  const { to, event } = creation;
  return [
    { move: 'create', from: null, to, event },
    ...Object.entries(moves).flatMap(([move, { transitions, event: moved }]) =>
      Object.entries(transitions).map(([from, target]) => ({ move, from, to: target, event: moved })),
    ),
  ];
}

/** Returns every status, in the order of the table. */
export function statusesOf(lifecycle: Lifecycle): readonly string[] {
  return [...new Set(transitionsOf(lifecycle).map(({ to }) => to))];
}

/** Returns the moves that a status allows. */
export function possibleMoves({ moves }: Lifecycle, status: string): readonly string[] {
  return Object.keys(moves).filter((move) => Object.hasOwn(moves[move]!.transitions, status));
}
