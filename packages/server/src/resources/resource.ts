import type { Changes } from '../audit/audit.js';
import type { EventTypeName } from '../catalogue/catalogue.js';
import type { Reference } from '../values/identifier.js';
import type { Fallback, Fill, Lifecycle, Move } from './resource-schema.js';
import { isNullable, payloadFields } from './resource-schema.js';

/** A resource as it is stored. */
export interface StoredResource {
  organization_id: string;
  id: string;
  kind: string;
  workspace_id: string | null;
  status: string;
  status_since_ms: number;
  attributes: Readonly<Record<string, unknown>>;
  created_ms: number;
  updated_ms: number;
}

/** The validated body of a creation or a move. */
export type LifecycleRequest = Readonly<Record<string, unknown>> & { readonly actor: Reference };

/** A creation, or a move with the resource before it. */
export interface Change {
  lifecycle: Lifecycle;
  move?: Move | undefined;
  request: LifecycleRequest;
  before?: StoredResource | undefined;
  after: StoredResource;
}

/** Returns the resource as the API shows it. */
export function resourceBody({ attributes }: Lifecycle, stored: StoredResource): Record<string, unknown> {
  const { id, kind: type, organization_id, workspace_id, status } = stored;
  const shown = Object.keys(attributes).map((name) => [name, stored.attributes[name] ?? null]);
  return {
    id,
    type,
    organization_id,
    workspace_id,
    status,
    ...Object.fromEntries(shown),
    created_at: new Date(stored.created_ms).toISOString(),
    updated_at: new Date(stored.updated_ms).toISOString(),
  };
}

/** Returns the attributes to set when a resource is created: the given ones, and fallbacks for the others. */
export function attributesOf({ attributes }: Lifecycle, request: LifecycleRequest): Record<string, unknown> {
  const set = Object.entries(attributes)
    .map(([name, { fallback }]) => [name, request[name] ?? fallbackFor(fallback, request.actor)])
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(set);
}

/** Returns the attributes that a move sets. */
export function attributesSetBy(
  { attributes }: Lifecycle,
  { eventOnly = [] }: Move,
  request: LifecycleRequest,
): Record<string, unknown> {
  const given = Object.entries(request).filter(
    ([name, value]) => Object.hasOwn(attributes, name) && !eventOnly.includes(name) && value !== undefined,
  );
  return Object.fromEntries(given);
}

/** Returns the attribute that a move increments. */
export function counterOf({ attributes }: Lifecycle, { event }: Move): string | undefined {
  const fields = payloadFields(event);
  return Object.keys(attributes).find((name) => Object.hasOwn(fields, attributes[name]!.counts ?? ''));
}

/** Returns the type of the event that a change records. Some creations record none. */
export function eventTypeOf({ lifecycle, move }: Change): EventTypeName | undefined {
  return (move ?? lifecycle.creation).event;
}

/** Returns the payload of the event, with fields in the order of the catalogue. Unknown values are left out. */
export function payloadOf(type: EventTypeName, change: Change): Record<string, unknown> {
  const payload: Record<string, unknown> = {};
  for (const [field, schema] of Object.entries(payloadFields(type))) {
    const value = fieldValue(field, change);
    if (value !== undefined && (value !== null || isNullable(schema))) payload[field] = value;
  }
  return payload;
}

function fieldValue(field: string, { lifecycle, move, request, before, after }: Change): unknown {
  const [, age, changed] = /^(previous|new)_(.+)$/.exec(field) ?? [];
  if (age === 'previous') return before && current(before, changed!);
  if (age === 'new') return current(after, changed!);
  if (field === 'id' || field === 'status') return after[field];
  if (request[field] !== undefined) return request[field];
  const fill = move?.fills?.[field];
  if (fill && before) return fillValue(fill, request.actor, after.updated_ms, before.status_since_ms);
  const { attributes } = lifecycle;
  const attribute = Object.keys(attributes).find((name) => (attributes[name]!.counts ?? name) === field);
  return attribute === undefined ? undefined : current(after, attribute);
}

function fallbackFor(fallback: Fallback | undefined, actor: Reference): string | number | undefined {
  if (!fallback || 'value' in fallback) return fallback?.value;
  return actor.type === fallback.actor ? actor.id : undefined;
}

/** Returns the value for a field. `sinceMs` is when the resource entered the status that it is leaving. */
function fillValue(fill: Fill, actor: Reference, atMs: number, sinceMs: number): string | number | undefined {
  if (fill === 'now') return new Date(atMs).toISOString();
  return fill === 'elapsed' ? atMs - sinceMs : fallbackFor(fill, actor);
}

function current({ status, attributes }: StoredResource, name: string): unknown {
  return name === 'status' ? status : (attributes[name] ?? null);
}

/** Returns the changes to the status and the attributes, for the audit log. */
export function resourceChanges({ lifecycle, before, after }: Change): Changes {
  const changes = ['status', ...Object.keys(lifecycle.attributes)]
    .map((name) => [name, { from: before ? current(before, name) : null, to: current(after, name) }] as const)
    .filter(([, { from, to }]) => JSON.stringify(from) !== JSON.stringify(to));
  return Object.fromEntries(changes);
}

/** Explains why a move was refused and what is allowed instead. */
export function refusalOf(what: string, status: string, move: string, possible: readonly string[]): string {
  const instead = possible.length > 0 ? `Allowed moves: ${possible.join(', ')}` : 'No move is allowed';
  return `${what} is ${status}, so '${move}' is not allowed. ${instead}.`;
}
