import type { TObject } from 'typebox';
import type { EventTypeName } from '../catalogue/catalogue.js';
import { eventJson } from '../events/event.js';
import type { Reference } from '../values/identifier.js';
import { type Lifecycle, transitionsOf } from './lifecycle.js';
import {
  attributesOf,
  attributesSetBy,
  counterOf,
  payloadOf,
  type ResourceChange,
  resourceBody,
  type StoredResource,
} from './resource.js';
import { creationSchema, moveSchema } from './resource-schema.js';

/** An example request and the response to it. */
export interface LifecycleSample {
  readonly request: Readonly<Record<string, unknown>>;
  readonly response: { readonly data: unknown; readonly event?: unknown };
}

type Request = Readonly<Record<string, unknown>> & { readonly actor: Reference };

interface Step {
  request: Request;
  before: StoredResource | undefined;
  after: StoredResource;
}

const sampleUlid = '01JAB3C4D5E6F7G8H9J0K1M2N3';
const createdMs = Date.parse('2026-11-15T09:30:00.000Z');
const hourMs = 3_600_000;

export function sampleId({ prefix }: Lifecycle): string {
  return `${prefix}-${sampleUlid}`;
}

export function creationSample(lifecycle: Lifecycle): LifecycleSample {
  return sampleOf(lifecycle, undefined, lifecycle.creation.event, created(lifecycle));
}

/** Returns the sample of a move, starting from the first status that allows it. */
export function moveSample(lifecycle: Lifecycle, name: string): LifecycleSample {
  const { transitions, event } = lifecycle.moves[name]!;
  let { after } = created(lifecycle);
  for (const move of shortestPathTo(lifecycle, Object.keys(transitions)[0]!))
    after = moved(lifecycle, move, after).after;
  return sampleOf(lifecycle, name, event, moved(lifecycle, name, after));
}

/** Returns the shortest sequence of moves from creation to a status. */
export function shortestPathTo(lifecycle: Lifecycle, status: string): readonly string[] {
  const ways = new Map<string, readonly string[]>([[lifecycle.creation.to, []]]);
  // A Map also iterates over entries that are added during the loop, so this is a breadth-first search.
  for (const [reached, way] of ways) {
    for (const { move, from, to } of transitionsOf(lifecycle))
      if (from === reached && !ways.has(to)) ways.set(to, [...way, move]);
  }
  const way = ways.get(status);
  if (!way) throw new Error(`no moves lead to ${status}`);
  return way;
}

function created(lifecycle: Lifecycle): Step {
  const request = exampleOf(creationSchema(lifecycle));
  const after: StoredResource = {
    organization_id: String(request.organization_id),
    id: sampleId(lifecycle),
    kind: lifecycle.kind,
    workspace_id: request.workspace_id as string | null,
    status: lifecycle.creation.to,
    attributes: attributesOf(lifecycle, request),
    status_since_ms: createdMs,
    created_ms: createdMs,
    updated_ms: createdMs,
  };
  return { request, before: undefined, after };
}

function moved(lifecycle: Lifecycle, name: string, before: StoredResource): Step {
  const move = lifecycle.moves[name]!;
  const request = exampleOf(moveSchema(lifecycle, move));
  const counter = counterOf(lifecycle, move);
  const status = move.transitions[before.status]!;
  const updated_ms = before.updated_ms + hourMs;
  const attributes = {
    ...before.attributes,
    ...attributesSetBy(lifecycle, move, request),
    ...(counter !== undefined && { [counter]: Number(before.attributes[counter] ?? 0) + 1 }),
  };
  const status_since_ms = status === before.status ? before.status_since_ms : updated_ms;
  return { request, before, after: { ...before, status, attributes, status_since_ms, updated_ms } };
}

function sampleOf(
  lifecycle: Lifecycle,
  move: string | undefined,
  event: EventTypeName | undefined,
  { request, before, after }: Step,
): LifecycleSample {
  const data = resourceBody(lifecycle, after);
  if (event === undefined) return { request, response: { data } };
  const change: ResourceChange = { event, request, before, after };
  const payload = payloadOf(lifecycle, move === undefined ? undefined : lifecycle.moves[move], change);
  const json = eventJson({
    id: `EVT-${sampleUlid}`,
    type: event,
    created_at: new Date(after.updated_ms),
    organization_id: after.organization_id,
    workspace_id: after.workspace_id,
    actor_type: request.actor.type,
    actor_id: request.actor.id,
    subject_type: lifecycle.kind,
    subject_id: after.id,
    payload: JSON.stringify(payload),
  });
  return { request, response: { data, event: JSON.parse(json) } };
}

/** Returns a request with every field that has an example. */
function exampleOf({ properties }: TObject): Request {
  const fields = Object.entries(properties)
    .map(([name, field]) => [name, (field as { examples?: readonly unknown[] }).examples?.[0]] as const)
    .filter(([, example]) => example !== undefined);
  return Object.fromEntries(fields) as Request;
}
