import type { AuditOrigin } from '../audit/audit.js';
import { writeAudit } from '../audit/audit-store.js';
import { createCatalogue, type EventTypeName } from '../catalogue/catalogue.js';
import { builtinTypes } from '../catalogue/catalogue-file.js';
import { createPayloadValidator } from '../catalogue/payload.js';
import type { StoredEvent } from '../events/event.js';
import { batchOf, type RecordedBatch, type Room, recordBatch } from '../events/recording-store.js';
import type { Queryable } from '../postgres/database.js';
import type { Reference } from '../values/identifier.js';
import { idTimeMs } from '../values/identifier.js';
import { type Lifecycle, type Move, possibleMoves } from './lifecycle.js';
import {
  attributesOf,
  attributesSetBy,
  counterOf,
  payloadOf,
  resourceChanges,
  type StoredResource,
} from './resource.js';
import { createResource, moveResource } from './resource-store.js';

/** The validated body of a creation or a move. */
export type LifecycleRequest = Readonly<Record<string, unknown>> & { readonly actor: Reference };

export type CreationRequest = LifecycleRequest & {
  readonly organization_id: string;
  readonly workspace_id?: string | null;
};

/** Where a request comes from, and the room for the deliveries of its event. */
export interface MoveContext extends Omit<AuditOrigin, 'actor'> {
  room?: Room;
}

/** The result of a creation or a move. Some creations record no event. */
export interface CompletedMove {
  outcome: 'done';
  resource: StoredResource;
  recorded: { event: StoredEvent; batch: RecordedBatch } | undefined;
}

export type MoveOutcome =
  | CompletedMove
  | { outcome: 'unknown' }
  | { outcome: 'refused'; resource: StoredResource; possibleMoves: readonly string[] };

const validatePayload = createPayloadValidator(createCatalogue(builtinTypes()));

/** Creates a resource in the transaction of `client`, with its event and audit log entry. */
export async function create(
  client: Queryable,
  lifecycle: Lifecycle,
  request: CreationRequest,
  context: MoveContext,
): Promise<CompletedMove> {
  const { kind, prefix, creation } = lifecycle;
  const resource = await createResource(client, {
    kind,
    prefix,
    organization_id: request.organization_id,
    workspace_id: request.workspace_id ?? null,
    attributes: attributesOf(lifecycle, request),
  });
  const type = creation.event;
  return record(client, { lifecycle, move: undefined, type, request, before: undefined, resource }, context);
}

/** Makes a move in the transaction of `client`. Concurrent moves of the resource wait until the transaction ends. */
export async function makeMove(
  client: Queryable,
  lifecycle: Lifecycle,
  name: string,
  id: string,
  request: LifecycleRequest,
  context: MoveContext,
): Promise<MoveOutcome> {
  const move = lifecycle.moves[name]!;
  const moved = await moveResource(client, {
    kind: lifecycle.kind,
    id,
    move: name,
    changes: attributesSetBy(lifecycle, move, request),
    counter: counterOf(lifecycle, move),
  });
  if (!moved) return { outcome: 'unknown' };
  const { before, after } = moved;
  if (!after) {
    return { outcome: 'refused', resource: before, possibleMoves: possibleMoves(lifecycle, before.status) };
  }
  const type = move.event;
  return record(client, { lifecycle, move, type, request, before, resource: after }, context);
}

interface Happened {
  lifecycle: Lifecycle;
  move: Move | undefined;
  type: EventTypeName | undefined;
  request: LifecycleRequest;
  before: StoredResource | undefined;
  resource: StoredResource;
}

async function record(client: Queryable, happened: Happened, context: MoveContext): Promise<CompletedMove> {
  const { lifecycle, type, request, before, resource } = happened;
  const { room, ...origin } = context;
  const recorded = type && (await recordEvent(client, type, happened, room));
  // This comes last, because it locks the organization's audit log until the transaction ends.
  await writeAudit(client, [
    {
      organization_id: resource.organization_id,
      workspace_id: resource.workspace_id,
      ...origin,
      actor: request.actor,
      action: type ?? `${lifecycle.kind}.created`,
      target: { type: lifecycle.kind, id: resource.id },
      changes: resourceChanges(lifecycle, before, resource),
    },
  ]);
  return { outcome: 'done', resource, recorded };
}

async function recordEvent(
  client: Queryable,
  type: EventTypeName,
  { lifecycle, move, request, before, resource }: Happened,
  room: Room | undefined,
): Promise<{ event: StoredEvent; batch: RecordedBatch }> {
  const payload = payloadOf(lifecycle, move, { event: type, request, before, after: resource });
  const faults = validatePayload(type, payload);
  if (faults.length > 0) {
    // The request was validated, so this is a mistake in the table of moves.
    throw new Error(`${type}: ${faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')}`);
  }
  const { organization_id, workspace_id } = resource;
  const [actor, subject] = [request.actor, { type: lifecycle.kind, id: resource.id }];
  const happening = batchOf([{ type, organization_id, workspace_id, actor, subject, payload }]);
  const batch = await recordBatch(client, happening, room);
  const { id } = batch.events[0]!;
  // The caller's driver may parse times differently, so take the time from the ID.
  const created_at = new Date(idTimeMs('EVT', id)!);
  const event: StoredEvent = {
    id,
    type,
    organization_id,
    workspace_id,
    created_at,
    actor_type: actor.type,
    actor_id: actor.id,
    subject_type: subject.type,
    subject_id: subject.id,
    payload: happening.payloads[0]!,
  };
  return { event, batch };
}
