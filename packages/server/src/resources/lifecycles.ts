import type { TSchema } from 'typebox';
import type { Resources } from '../../types/resources.js';
import type { EventTypeName } from '../catalogue/catalogue.js';
import { builtinData } from '../catalogue/catalogue-file.js';

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
