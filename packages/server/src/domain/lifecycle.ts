import type { TSchema } from 'typebox';
import type { EventTypeName } from './catalogue.js';
import type { Reference } from './event.js';

/** A kind of resource that has a status, and all that can happen to it. */
export interface Lifecycle {
  /** As in the subject of its events. */
  readonly kind: string;
  readonly prefix: string;
  /** What describes the resource, in the order it is shown. */
  readonly attributes: Readonly<Record<string, Attribute>>;
  readonly creation: { readonly to: string; readonly event?: EventTypeName };
  readonly moves: Readonly<Record<string, Move>>;
}

export type Attribute = AttributeOrigin & {
  readonly required?: true;
  /** What it is where a creation leaves it out; null where there is nothing to say. */
  readonly fallback?: Fallback;
  /** Nobody sets it: each move whose event has this field counts it up. */
  readonly counts?: string;
};

/** A field of that event type's payload, under the same name, or one that no event tells of. */
type AttributeOrigin = { readonly of: EventTypeName } | { readonly schema: TSchema };

export interface Move {
  /** For the API reference, if the name of the move does not say it. */
  readonly summary?: string;
  /** Where it leads from each status that allows it. */
  readonly takes: Readonly<Record<string, string>>;
  readonly event: EventTypeName;
  /** Fields that a request must have. */
  readonly needs?: readonly string[];
  /** Fields that only the event tells, though the resource has attributes of the same name. */
  readonly tells?: readonly string[];
  /** Fields of the payload that are filled in where the request leaves them out. */
  readonly fills?: Readonly<Record<string, Fill>>;
}

/** A fixed value, or the actor where it is of that kind. */
type Fallback = { readonly value: string | number } | { readonly actor: string };

/** Also the time of the move, and the milliseconds since the status began that it leaves. */
type Fill = Fallback | 'now' | 'elapsed';

export function fallbackFor(fallback: Fallback, actor: Reference): string | number | undefined {
  if ('value' in fallback) return fallback.value;
  return actor.type === fallback.actor ? actor.id : undefined;
}

/** `sinceMs`: since when it had the status that it leaves. */
export function filled(
  fill: Fill,
  actor: Reference,
  atMs: number,
  sinceMs: number,
): string | number | undefined {
  if (fill === 'now') return new Date(atMs).toISOString();
  return fill === 'elapsed' ? atMs - sinceMs : fallbackFor(fill, actor);
}

/** One line of the table of moves: a creation comes from no status. */
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
    ...Object.entries(moves).flatMap(([move, { takes, event: moved }]) =>
      Object.entries(takes).map(([from, target]) => ({ move, from, to: target, event: moved })),
    ),
  ];
}

/** Every status there is, in the order of the table. */
export function statusesOf(lifecycle: Lifecycle): readonly string[] {
  return [...new Set(transitionsOf(lifecycle).map(({ to }) => to))];
}

/** The moves that a status allows. */
export function possibleMoves({ moves }: Lifecycle, status: string): readonly string[] {
  return Object.keys(moves).filter((move) => Object.hasOwn(moves[move]!.takes, status));
}

/** Why a move was refused, and what to do instead. */
export function refusalOf(what: string, status: string, move: string, possible: readonly string[]): string {
  const instead = possible.length > 0 ? `Allowed moves: ${possible.join(', ')}` : 'No move is allowed';
  return `${what} is ${status}, which does not allow '${move}'. ${instead}.`;
}
