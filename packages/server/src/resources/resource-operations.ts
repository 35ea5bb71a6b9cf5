import Type, { type TObject, type TSchema } from 'typebox';
import type { EventTypeName } from '../catalogue/catalogue.js';
import { type Operation, type Tag, table } from '../web/route.js';
import { dataOf, EventSchema } from '../web/schemas.js';
import * as resources from './resource.js';
import * as schemas from './resource-schema.js';

/** What the table of routes says about an operation, apart from who handles it. */
type Columns = Omit<Operation, 'handler'>;

export function creationColumns(lifecycle: schemas.Lifecycle): Columns {
  const { to, event } = lifecycle.creation;
  const sample = sampleOf(lifecycle);
  return {
    operationId: `create${schemas.titleOf(lifecycle.kind)}`,
    summary: `Create ${article(nounOf(lifecycle))}`,
    description: `The initial status is \`${to}\`. ${event ? `Records \`${event}\`.` : 'Records no event.'}`,
    ...checkedBody(schemas.creationSchema(lifecycle), sample.request),
    returns: { 201: responseSchema(lifecycle, event, sample.response) },
    sends: ['Location'],
  };
}

export function moveColumns(lifecycle: schemas.Lifecycle, name: string): Columns {
  const move = lifecycle.moves[name]!;
  const sample = sampleOf(lifecycle, name);
  return {
    operationId: moveOperationId(lifecycle, name),
    summary: move.summary ?? `${schemas.titleOf(name)} ${article(nounOf(lifecycle))}`,
    description: moveDescription(move),
    params: paramsOf(lifecycle),
    ...checkedBody(schemas.moveSchema(lifecycle, move), sample.request),
    returns: { 200: responseSchema(lifecycle, move.event, sample.response) },
    refusals: ['move_not_allowed'],
  };
}

function checkedBody(body: TObject, example: unknown): Pick<Columns, 'body' | 'bodyIsChecked' | 'input'> {
  const check = schemas.createInputChecker(body);
  return {
    body: { ...body, examples: [example] },
    bodyIsChecked: true,
    input: ({ request }, faults) => void faults.push(...check(request.body)),
  };
}

export function readColumns(lifecycle: schemas.Lifecycle): Columns {
  const { data } = sampleOf(lifecycle).response;
  return {
    operationId: `get${schemas.titleOf(lifecycle.kind)}`,
    summary: `Get ${article(nounOf(lifecycle))}`,
    description: 'Returns the resource with its current status.',
    params: paramsOf(lifecycle),
    returns: { 200: dataOf(schemas.resourceSchema(lifecycle), { examples: [{ data }] }) },
  };
}

function responseSchema(
  lifecycle: schemas.Lifecycle,
  event: EventTypeName | undefined,
  sample: unknown,
): TSchema {
  const data = schemas.resourceSchema(lifecycle);
  return event === undefined
    ? Type.Object({ data }, { examples: [sample] })
    : Type.Object({ data, event: eventSchema(lifecycle, event) }, { examples: [sample] });
}

/** Returns the schema of an event of this type. Previous values are optional, because a creation has none. */
function eventSchema({ kind, prefix }: schemas.Lifecycle, type: EventTypeName): TSchema {
  const { properties } = EventSchema;
  const fields = Object.entries(schemas.payloadFields(type)).map(([name, field]) => [
    name,
    Type.Optional(field),
  ]);
  return Type.Object(
    {
      ...properties,
      type: Type.Enum([type], { description: 'Event type.' }),
      subject: Type.Object(
        {
          type: Type.Enum([kind], { description: 'Type.' }),
          id: Type.String({ pattern: `^${prefix}-`, description: 'ID.' }),
        },
        { title: `${schemas.titleOf(kind)}Subject`, description: 'What the event is about.' },
      ),
      payload: Type.Object(Object.fromEntries(fields), { description: 'Depends on the event type.' }),
    },
    { title: `${schemas.titleOf(type.replaceAll('.', '_'))}Event`, additionalProperties: false },
  );
}

function paramsOf(lifecycle: schemas.Lifecycle) {
  const description = 'Resource ID.';
  return Type.Object({ id: Type.String({ description, examples: [sampleId(lifecycle)] }) });
}

function moveDescription({ transitions, event }: schemas.Move): string {
  const outcome = keepsStatus(transitions)
    ? 'The status does not change.'
    : `The new status is ${listed(Object.values(transitions))}.`;
  const allowed = listed(Object.keys(transitions)).replace(/, (?=[^,]*$)/, ' or ');
  return `Allowed when the status is ${allowed}. ${outcome} Records \`${event}\`.`;
}

/** Returns the heading of a type of resource, with its table of moves. */
export function tagOf(lifecycle: schemas.Lifecycle): Tag {
  const { prefix, creation, moves } = lifecycle;
  const rows = Object.entries(moves).map(([name, { transitions, event }]) => [
    `\`${name}\``,
    listed(Object.keys(transitions)),
    keepsStatus(transitions) ? 'unchanged' : listed(Object.values(transitions)),
    `\`${event}\``,
  ]);
  const movesTable = table(['Move', 'From', 'To', 'Event'], rows);
  const noun = nounOf(lifecycle);
  const plural = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return {
    name: plural.charAt(0).toUpperCase() + plural.slice(1),
    description: `IDs start with \`${prefix}-\`. The initial status is \`${creation.to}\`.\n\n${movesTable}`,
  };
}

function keepsStatus(transitions: schemas.Move['transitions']): boolean {
  return Object.entries(transitions).every(([from, to]) => from === to);
}

function listed(statuses: readonly string[]): string {
  return [...new Set(statuses)].map((status) => `\`${status}\``).join(', ');
}

/** Turns `service_line` into `service line`. */
export function nounOf({ kind }: schemas.Lifecycle): string {
  return kind.replaceAll('_', ' ');
}

function moveOperationId({ kind }: schemas.Lifecycle, move: string): string {
  const [verb = '', object = ''] = move.split('-');
  return `${verb}${schemas.titleOf(kind)}${schemas.titleOf(object)}`;
}

const article = (noun: string) => `${/^[aeiou](?!ser)/.test(noun) ? 'an' : 'a'} ${noun}`;

/** An example request and the response to it. */
interface Sample {
  readonly request: resources.LifecycleRequest;
  readonly response: { readonly data: unknown; readonly event?: unknown };
}

const sampleUlid = '01JAB3C4D5E6F7G8H9J0K1M2N3';
const createdMs = Date.parse('2026-11-15T09:30:00.000Z');
const hourMs = 3_600_000;

function sampleId({ prefix }: schemas.Lifecycle): string {
  return `${prefix}-${sampleUlid}`;
}

/** Returns the sample of a creation, or of a move from the first status that allows it. */
function sampleOf(lifecycle: schemas.Lifecycle, name?: string): Sample {
  let change = created(lifecycle);
  if (name !== undefined) {
    const [from = ''] = Object.keys(lifecycle.moves[name]!.transitions);
    for (const move of [...shortestPathTo(lifecycle, from), name])
      change = moved(lifecycle, move, change.after);
  }
  const { request, after } = change;
  const data = resources.resourceBody(lifecycle, after);
  const type = resources.eventTypeOf(change);
  if (type === undefined) return { request, response: { data } };
  const event = {
    id: `EVT-${sampleUlid}`,
    type,
    organization_id: after.organization_id,
    workspace_id: after.workspace_id,
    actor: request.actor,
    subject: { type: after.kind, id: after.id },
    payload: resources.payloadOf(type, change),
    created_at: new Date(after.updated_ms).toISOString(),
  };
  return { request, response: { data, event } };
}

/**
 * Returns payloads that lifecycles record as events of this type: for each transition, one with all fields and one with
 * only those that are always there.
 */
export function recordedPayloads(type: string): readonly object[] {
  return [false, true].flatMap((isMinimal) =>
    Object.values(schemas.lifecycles).flatMap((lifecycle) => {
      const creation = created(lifecycle, isMinimal);
      const changes = schemas.transitionsOf(lifecycle).map(({ move, from }) => {
        if (from === null) return creation;
        let before = creation.after;
        for (const name of shortestPathTo(lifecycle, from))
          before = moved(lifecycle, name, before, isMinimal).after;
        return moved(lifecycle, move, before, isMinimal);
      });
      return changes
        .filter((change) => resources.eventTypeOf(change) === type)
        .map((change) => resources.payloadOf(type as EventTypeName, change));
    }),
  );
}

/** Returns the shortest sequence of moves from creation to a status. */
export function shortestPathTo(lifecycle: schemas.Lifecycle, status: string): readonly string[] {
  const ways = new Map<string, readonly string[]>([[lifecycle.creation.to, []]]);
  // A Map also iterates over entries that are added during the loop, so this is a breadth-first search.
  for (const [reached, way] of ways) {
    for (const { move, from, to } of schemas.transitionsOf(lifecycle))
      if (from === reached && !ways.has(to)) ways.set(to, [...way, move]);
  }
  const way = ways.get(status);
  if (!way) throw new Error(`no moves lead to ${status}`);
  return way;
}

function created(lifecycle: schemas.Lifecycle, isMinimal = false): resources.Change {
  const request = exampleOf(schemas.creationSchema(lifecycle), isMinimal);
  const after: resources.StoredResource = {
    organization_id: String(request.organization_id),
    id: sampleId(lifecycle),
    kind: lifecycle.kind,
    workspace_id: (request.workspace_id ?? null) as string | null,
    status: lifecycle.creation.to,
    attributes: resources.attributesOf(lifecycle, request),
    status_since_ms: createdMs,
    created_ms: createdMs,
    updated_ms: createdMs,
  };
  return { lifecycle, request, after };
}

function moved(
  lifecycle: schemas.Lifecycle,
  name: string,
  before: resources.StoredResource,
  isMinimal = false,
): resources.Change {
  const move = lifecycle.moves[name]!;
  const request = exampleOf(schemas.moveSchema(lifecycle, move), isMinimal);
  const counter = resources.counterOf(lifecycle, move);
  const status = move.transitions[before.status]!;
  const updated_ms = before.updated_ms + hourMs;
  const attributes = {
    ...before.attributes,
    ...resources.attributesSetBy(lifecycle, move, request),
    ...(counter !== undefined && { [counter]: Number(before.attributes[counter] ?? 0) + 1 }),
  };
  const status_since_ms = status === before.status ? before.status_since_ms : updated_ms;
  const after = { ...before, status, attributes, status_since_ms, updated_ms };
  return { lifecycle, move, request, before, after };
}

/** Returns a request with every field that has an example, or only with the required fields. */
function exampleOf(schema: TObject, isMinimal = false): resources.LifecycleRequest {
  const { properties, required = [] }: { properties: object; required?: readonly string[] } = schema;
  const fields = Object.entries(properties)
    .filter(([name]) => !isMinimal || required.includes(name))
    .map(([name, field]) => [name, (field as { examples?: readonly unknown[] }).examples?.[0]] as const)
    .filter(([, example]) => example !== undefined);
  return Object.fromEntries(fields) as resources.LifecycleRequest;
}
