import type { Static, TSchema } from 'typebox';
import type { EventOf, EventTypeName, PayloadOf } from '../catalogue/catalogue.js';
import type { Reference } from '../values/identifier.js';
import type { lifecycles } from './lifecycles.js';

type Table = typeof lifecycles;
type Attributes<Name extends ResourceName> = Table[Name]['attributes'];
type Moves<Name extends ResourceName> = Table[Name]['moves'];

/** The names of the resources, as they appear in paths. */
export type ResourceName = keyof Table;
export type MoveName<Name extends ResourceName> = keyof Moves<Name> & string;

type Flat<T> = { [Key in keyof T]: T[Key] };
type Field<Type extends EventTypeName, Key> = Key extends keyof PayloadOf<Type>
  ? Exclude<PayloadOf<Type>[Key], undefined>
  : never;

/** The type of an attribute, from the catalogue or from the schema in the table. */
type Value<Attribute, Key> = Attribute extends { of: infer Type extends EventTypeName }
  ? Field<Type, Key>
  : Attribute extends { schema: infer Schema extends TSchema }
    ? Static<Schema>
    : never;

type KeyWith<Of, Mark> = { [Key in keyof Of]: Of[Key] extends Mark ? Key : never }[keyof Of];
type RequiredKey<Name extends ResourceName> = KeyWith<Attributes<Name>, { required: true }>;
type DefaultedKey<Name extends ResourceName> = KeyWith<Attributes<Name>, { fallback: { value: unknown } }>;
type CountedKey<Name extends ResourceName> = KeyWith<Attributes<Name>, { counts: string }>;

type StatusOf<Name extends ResourceName> =
  | Table[Name]['creation']['to']
  | {
      [Key in keyof Moves<Name>]: Moves<Name>[Key] extends { transitions: infer Transitions }
        ? Transitions[keyof Transitions]
        : never;
    }[keyof Moves<Name>];

/** A resource as it appears in responses. */
export type Resource<Name extends ResourceName> = Flat<
  {
    readonly id: string;
    readonly type: Table[Name]['kind'];
    readonly organization_id: string;
    readonly workspace_id: string | null;
    readonly status: StatusOf<Name>;
    readonly created_at: string;
    readonly updated_at: string;
  } & {
    readonly [Key in keyof Attributes<Name>]:
      | Value<Attributes<Name>[Key], Key>
      | (Key extends RequiredKey<Name> | DefaultedKey<Name> ? never : null);
  }
>;

/**
 * Holds the bodies of creation requests by resource name. If they were computed from a type parameter instead, the
 * compiler would take 2 s for each program that calls `createResource`.
 */
type Creations = {
  [Name in ResourceName]: Flat<
    {
      organization_id: string;
      workspace_id?: string | null;
      actor: Reference;
    } & { [Key in RequiredKey<Name>]: Value<Attributes<Name>[Key], Key> } & {
      [Key in Exclude<keyof Attributes<Name>, RequiredKey<Name> | CountedKey<Name>>]?: Value<
        Attributes<Name>[Key],
        Key
      >;
    }
  >;
};

/** The body of a creation request. */
export type ResourceCreation<Name extends ResourceName> = Creations[Name];

type EventOfMove<Name extends ResourceName, Move extends MoveName<Name>> = Moves<Name>[Move] extends {
  event: infer Type extends EventTypeName;
}
  ? Type
  : never;

/** The name that a request uses for a field of the payload; see `moveSchema`. */
type RequestField<Name extends ResourceName, Key> = Key extends
  | 'id'
  | 'status'
  | 'new_status'
  | `previous_${string}`
  ? never
  : Key extends Extract<Attributes<Name>[keyof Attributes<Name>], { counts: string }>['counts']
    ? never
    : Key extends `new_${infer Changed}`
      ? Changed
      : Key;

type MoveFields<Name extends ResourceName, Type extends EventTypeName> = {
  [Key in keyof PayloadOf<Type> as RequestField<Name, Key>]-?: Exclude<PayloadOf<Type>[Key], undefined>;
};

type Needed<Name extends ResourceName, Move extends MoveName<Name>> = Moves<Name>[Move] extends {
  needs: readonly (infer Need)[];
}
  ? Need
  : never;

/** The body of a move request. */
export type ResourceMove<Name extends ResourceName, Move extends MoveName<Name>> = Flat<
  { actor: Reference } & Pick<
    MoveFields<Name, EventOfMove<Name, Move>>,
    Needed<Name, Move> & keyof MoveFields<Name, EventOfMove<Name, Move>>
  > &
    Partial<Omit<MoveFields<Name, EventOfMove<Name, Move>>, Needed<Name, Move> & string>>
>;

/** The event that is recorded when a resource is created, or undefined if there is none. */
export type CreationEvent<Name extends ResourceName> = Table[Name]['creation'] extends {
  event: infer Type extends EventTypeName;
}
  ? EventOf<Type>
  : undefined;

export type MoveEvent<Name extends ResourceName, Move extends MoveName<Name>> = EventOf<
  EventOfMove<Name, Move>
>;
