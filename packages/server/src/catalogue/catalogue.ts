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
}

export interface Catalogue {
  get(type: string): EventType | undefined;
  /** Returns the built-in types in the order of their file, then the added types. */
  list(): readonly EventType[];
  isBuiltin(type: string): boolean;
  /** Returns the first segment of every type, without duplicates. */
  domains(): readonly string[];
  /** Returns the known type with the most similar name, however different it is. */
  nearest(name: string): NearestType;
  /** Returns the domain that the name is probably a misspelling of. */
  similarDomain(name: string): string | undefined;
}

interface NearestType {
  readonly type: string;
  /** Whether the name is probably a misspelling of this type. */
  readonly isSimilar: boolean;
}

/** Reports an added type that the catalogue cannot accept. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
}

const typeName = /^[a-z][a-z0-9_]{0,63}(\.[a-z][a-z0-9_]{0,63}){1,2}$/;

/**
 * Creates a catalogue of built-in types and those that an installation adds. Throws a `CatalogueError` if the name of an
 * added type is invalid or already taken.
 */
export function createCatalogue(builtin: readonly EventType[], added: readonly EventType[] = []): Catalogue {
  const types = new Map(builtin.map((known) => [known.type, known]));
  for (const further of added) {
    refuseMisnamed(further.type, types);
    types.set(further.type, further);
  }
  const all = [...types.values()];
  const domains = [...new Set(all.map(({ type }) => domainOf(type)))];
  return {
    get: (type) => types.get(type),
    list: () => all,
    isBuiltin: (type) => builtin.includes(types.get(type)!),
    domains: () => domains,
    nearest: (name) => nearestOf(types.keys(), name),
    similarDomain: (name) => {
      const nearest = nearestOf([...types.keys()].map(domainOf), name);
      return nearest.isSimilar ? nearest.type : undefined;
    },
  };
}

/** Returns the type of the subject in events of this type: `run` for `agent.run.started`. */
export function subjectTypeOf(type: string): string {
  return type.split('.').at(-2)!;
}

function domainOf(type: string): string {
  return type.slice(0, type.indexOf('.'));
}

function refuseMisnamed(type: string, taken: ReadonlyMap<string, EventType>): void {
  if (!typeName.test(type)) {
    throw new CatalogueError(
      `event type ${JSON.stringify(type)} is not a valid name: expected two or three segments of a-z, ` +
        '0-9 and _, separated by dots, each starting with a letter',
    );
  }
  if (type.startsWith('webhook.')) {
    throw new CatalogueError(`event type "${type}" cannot be added: webhook.* is reserved for the service`);
  }
  if (taken.has(type)) {
    throw new CatalogueError(`event type "${type}" cannot be added: the catalogue already has it`);
  }
}

/** The most edits, as a fraction of the longer name's length, between a type and a misspelling of it. */
const misspelledPart = 1 / 4;

/** Returns the type that is the fewest edits away from `name`, however many. */
function nearestOf(types: Iterable<string>, name: string): NearestType {
  // Computing the distance takes longer for long names, and no type is longer than this.
  const wanted = name.slice(0, 200).toLowerCase();
  let nearest = '';
  let fewest = Number.POSITIVE_INFINITY;
  for (const type of types) {
    const edits = distance(wanted, type);
    if (edits < fewest) {
      nearest = type;
      fewest = edits;
    }
  }
  const length = Math.max(wanted.length, nearest.length);
  return { type: nearest, isSimilar: fewest <= length * misspelledPart };
}

/** Returns what is wrong with a type that is not in the catalogue, and what its sender may have meant. */
export function unknownType(type: string, catalogue: Catalogue): string {
  const nearest = catalogue.nearest(type);
  const hint = nearest.isSimilar
    ? `did you mean ${nearest.type}?`
    : `the closest known type is ${nearest.type}. An operator can add types with the setting POSTHORN_CATALOGUE`;
  return `is not a known event type; ${hint}`;
}
