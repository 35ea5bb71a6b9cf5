import type { EventData } from '@posthorn/receiver';
import { distance } from 'fastest-levenshtein';
import type { TSchema } from 'typebox';

/** The names of the built-in types. */
export type EventTypeName = keyof EventData;

export type PayloadOf<T extends EventTypeName> = EventData[T];

interface TypedEvent<T extends string, Payload> {
  readonly id: string;
  readonly type: T;
  readonly organization_id: string;
  readonly workspace_id: string | null;
  readonly actor: { readonly type: string; readonly id: string };
  readonly subject: { readonly type: string; readonly id: string };
  readonly payload: Payload;
  readonly created_at: string;
}

/** An event of a known type. For several types, a union that narrows on `type`. */
export type EventOf<T extends EventTypeName> = { [Name in T]: TypedEvent<Name, PayloadOf<Name>> }[T];

export interface EventType {
  readonly type: string;
  readonly description: string;
  /** JSON Schema of the payload. Fields it does not name are allowed. */
  readonly schema: TSchema;
  readonly sample: Readonly<Record<string, unknown>>;
  /** Increases when the schema changes. */
  readonly version?: number;
}

export interface Catalogue {
  get(type: string): EventType | undefined;
  /** Returns the built-in types in the order of their file, then the others. */
  list(): readonly EventType[];
  /** Whether the built-in types and the lifecycles are on. */
  readonly builtin: boolean;
  /** This catalogue as it is now. A catalogue that changes returns another object after each change. */
  readonly current: Catalogue;
}

/** Reports a type whose schema cannot be used. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
}

const typeName = /^[a-z][a-z0-9_]{0,63}(\.[a-z][a-z0-9_]{0,63}){1,2}$/;

/** Creates a catalogue that does not change. A later type of the same name replaces an earlier one. */
export function createCatalogue(types: readonly EventType[], builtin = true): Catalogue {
  const byName = new Map(types.map((known) => [known.type, known]));
  const all = [...byName.values()];
  const catalogue: Catalogue = {
    builtin,
    get current() {
      return catalogue;
    },
    get: (type) => byName.get(type),
    list: () => all,
  };
  return catalogue;
}

/** Returns a function that returns what `make` makes of the catalogue, again after each change. */
export function madeFrom<T>(catalogue: Catalogue, make: (current: Catalogue) => T): () => T {
  let from: Catalogue | undefined;
  let made: T;
  return () => {
    const { current } = catalogue;
    if (from !== current) {
      made = make(current);
      from = current;
    }
    return made;
  };
}

/** Returns the type of the subject in events of this type: `run` for `agent.run.started`. */
export function subjectTypeOf(type: string): string {
  return type.split('.').at(-2)!;
}

export function domainOf(type: string): string {
  return type.slice(0, type.indexOf('.'));
}

/** Returns the first segment of every type, without duplicates. */
export function domainsOf(catalogue: Catalogue): readonly string[] {
  return [...new Set(catalogue.list().map(({ type }) => domainOf(type)))];
}

/** Returns what is wrong with the name of a type that the platform defines. */
export function faultOfName(type: string): string | undefined {
  if (!typeName.test(type))
    return (
      `${JSON.stringify(type)} is not a valid name: expected two or three segments of a-z, 0-9 and _, separated by ` +
      'dots, each starting with a letter'
    );
  return type.startsWith('webhook.') ? `"${type}" is reserved for the service` : undefined;
}

/** The most edits, as a fraction of the longer name's length, between a name and a misspelling of it. */
const misspelledPart = 1 / 4;

/** Returns the known name that is the fewest edits away from `name`, and whether `name` is probably a misspelling of it. */
export function nearestOf(known: readonly string[], name: string): { name: string; isSimilar: boolean } {
  // Computing the distance takes longer for long names, and no type is longer than this.
  const wanted = name.slice(0, 200).toLowerCase();
  let nearest = '';
  let fewest = Number.POSITIVE_INFINITY;
  for (const one of known) {
    const edits = distance(wanted, one);
    if (edits < fewest) [nearest, fewest] = [one, edits];
  }
  const length = Math.max(wanted.length, nearest.length);
  return { name: nearest, isSimilar: fewest <= length * misspelledPart };
}

/** Returns what is wrong with a type that is not in the catalogue, and what its sender may have meant. */
export function unknownType(type: string, catalogue: Catalogue): string {
  const types = catalogue.list().map((known) => known.type);
  const nearest = nearestOf(types, type);
  const hint = nearest.isSimilar
    ? `did you mean ${nearest.name}?`
    : `the closest known type is ${nearest.name}. An operator can add types with the setting POSTHORN_CATALOGUE`;
  return `is not a known event type; ${hint}`;
}
