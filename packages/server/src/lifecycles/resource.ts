import type { Changes } from '../audit/audit.js';
import type { EventTypeName } from '../catalogue/catalogue.js';
import type { Reference } from '../values/identifier.js';
import { fallbackFor, fillValue, type Lifecycle, type Move } from './lifecycle.js';
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

type Request = Readonly<Record<string, unknown>> & { readonly actor: Reference };

/** Returns the attributes to set when a resource is created: the given ones, and fallbacks for the others. */
export function attributesOf({ attributes }: Lifecycle, request: Request): Record<string, unknown> {
  const set: Record<string, unknown> = {};
  for (const [name, { fallback }] of Object.entries(attributes)) {
    const value = request[name] ?? (fallback && fallbackFor(fallback, request.actor));
    if (value !== undefined && value !== null) set[name] = value;
  }
  return set;
}

/** Returns the attributes that a move sets. */
export function attributesSetBy(
  { attributes }: Lifecycle,
  { eventOnly = [] }: Move,
  request: Request,
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

export interface ResourceChange {
  event: EventTypeName;
  request: Request;
  /** Undefined for a creation. */
  before: StoredResource | undefined;
  after: StoredResource;
}

/** Returns the payload of the event, with fields in the order of the catalogue. Unknown values are left out. */
export function payloadOf(lifecycle: Lifecycle, move: Move | undefined, change: ResourceChange) {
  const payload: Record<string, unknown> = {};
  for (const [field, schema] of Object.entries(payloadFields(change.event))) {
    const value = fieldValue(field, lifecycle, move, change);
    if (value !== undefined && (value !== null || isNullable(schema))) payload[field] = value;
  }
  return payload;
}

function fieldValue(
  field: string,
  lifecycle: Lifecycle,
  move: Move | undefined,
  change: ResourceChange,
): unknown {
  const { attributes } = lifecycle;
  const { request, before, after } = change;
  const [, age, changed] = /^(previous|new)_(.+)$/.exec(field) ?? [];
  if (age === 'previous') return before && current(before, changed!);
  if (age === 'new') return current(after, changed!);
  if (field === 'id' || field === 'status') return after[field];
  if (request[field] !== undefined) return request[field];
  const fill = move?.fills?.[field];
  if (fill && before) return fillValue(fill, request.actor, after.updated_ms, before.status_since_ms);
  const attribute = Object.keys(attributes).find((name) => (attributes[name]!.counts ?? name) === field);
  return attribute === undefined ? undefined : current(after, attribute);
}

function current({ status, attributes }: StoredResource, name: string): unknown {
  return name === 'status' ? status : (attributes[name] ?? null);
}

/** Returns the changes to the status and the attributes, for the audit log. */
export function resourceChanges(
  { attributes }: Lifecycle,
  before: StoredResource | undefined,
  after: StoredResource,
): Changes {
  const names = ['status', ...Object.keys(attributes)];
  const changes = names
    .map((name) => [name, { from: before ? current(before, name) : null, to: current(after, name) }] as const)
    .filter(([, { from, to }]) => JSON.stringify(from) !== JSON.stringify(to));
  return Object.fromEntries(changes);
}
