import { type AuditOrigin, entryAbout } from '../audit/audit.js';
import { auditedWrite, writeAudit } from '../audit/audit-store.js';
import { createCatalogue, type EventTypeName } from '../catalogue/catalogue.js';
import { builtinTypes } from '../catalogue/catalogue-file.js';
import { createPayloadValidator } from '../catalogue/payload.js';
import { referenceColumns, type StoredEvent } from '../events/event.js';
import type { RecorderOptions } from '../events/recorder.js';
import * as recordings from '../events/recording-store.js';
import type { Queryable } from '../postgres/database.js';
import * as resources from './resource.js';
import { type Lifecycle, possibleMoves } from './resource-schema.js';
import { createResource, limitLockWaits, moveResource } from './resource-store.js';

export type CreationRequest = resources.LifecycleRequest & {
  readonly organization_id: string;
  readonly workspace_id?: string | null;
};

/** Where a request comes from, and the room of this node for the deliveries of its event, if it is a node. */
export interface MoveContext extends Omit<AuditOrigin, 'actor'> {
  room?: recordings.Room;
}

/** The result of a creation or a move. Some creations record no event. */
export interface CompletedMove {
  outcome: 'done';
  resource: resources.StoredResource;
  recorded: { event: StoredEvent; batch: recordings.RecordedBatch | undefined } | undefined;
}

export type MoveOutcome =
  | CompletedMove
  | { outcome: 'unknown' }
  | { outcome: 'refused'; resource: resources.StoredResource; possibleMoves: readonly string[] };

const validatePayload = createPayloadValidator(createCatalogue(builtinTypes()));

/** Creates a resource in the transaction of `client`, with its event and audit log entry. */
export async function create(
  client: Queryable,
  lifecycle: Lifecycle,
  request: CreationRequest,
  context: MoveContext,
): Promise<CompletedMove> {
  const { organization_id, workspace_id = null } = request;
  const attributes = resources.attributesOf(lifecycle, request);
  const after = await createResource(client, lifecycle, { organization_id, workspace_id, attributes });
  return record(client, { lifecycle, request, after }, context);
}

/** Makes a move in the transaction of `client`. Concurrent moves of the resource wait until the transaction ends. */
export async function makeMove(
  client: Queryable,
  lifecycle: Lifecycle,
  name: string,
  id: string,
  request: resources.LifecycleRequest,
  context: MoveContext,
): Promise<MoveOutcome> {
  const move = lifecycle.moves[name]!;
  const moved = await moveResource(client, lifecycle.kind, id, name, {
    changes: resources.attributesSetBy(lifecycle, move, request),
    counter: resources.counterOf(lifecycle, move),
  });
  if (!moved) return { outcome: 'unknown' };
  const { before, after } = moved;
  if (!after) {
    return { outcome: 'refused', resource: before, possibleMoves: possibleMoves(lifecycle, before.status) };
  }
  return record(client, { lifecycle, move, request, before, after }, context);
}

async function record(
  client: Queryable,
  change: resources.Change,
  context: MoveContext,
): Promise<CompletedMove> {
  const { lifecycle, request, after } = change;
  const { room, ...origin } = context;
  const type = resources.eventTypeOf(change);
  const recorded = type && (await recordEvent(client, type, change, room));
  // This comes last, because it locks the organization's audit log until the transaction ends.
  const action = type ?? `${lifecycle.kind}.created`;
  const by = { ...origin, actor: request.actor };
  const changes = resources.resourceChanges(change);
  await writeAudit(client, [entryAbout(lifecycle.kind, after, action, changes, by)]);
  return { outcome: 'done', resource: after, recorded };
}

async function recordEvent(
  client: Queryable,
  type: EventTypeName,
  change: resources.Change,
  room: recordings.Room | undefined,
): Promise<NonNullable<CompletedMove['recorded']>> {
  const payload = resources.payloadOf(type, change);
  const faults = validatePayload(type, payload);
  if (faults.length > 0) {
    // The request was validated, so this is a mistake in the table of moves.
    throw new Error(`${type}: ${faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')}`);
  }
  const { organization_id, workspace_id, kind, id: subjectId } = change.after;
  const { actor } = change.request;
  const subject = { type: kind, id: subjectId };
  const happening = { type, organization_id, workspace_id, actor, subject, payload };
  const batch = room && (await recordings.recordBatch(client, recordings.batchOf([happening]), room));
  const [recorded] = batch?.events ?? (await recordings.recordEvents(client, [happening]));
  const text = JSON.stringify(payload);
  const columns = { type, organization_id, workspace_id, payload: text, ...referenceColumns(actor, subject) };
  return { event: { ...recorded!, ...columns }, batch };
}

/** Runs a creation or a move in its own transaction, and hands over the recorded batch after the commit. */
export async function runMove<Outcome extends MoveOutcome>(
  { database, room, onRecorded }: RecorderOptions,
  organizationId: string,
  origin: Omit<MoveContext, 'room'>,
  work: (client: Queryable, context: MoveContext) => Promise<Outcome>,
): Promise<Outcome> {
  const outcome = await auditedWrite(database, organizationId, async (client) => {
    await limitLockWaits(client);
    return work(client, { ...origin, room: room() });
  });
  if (outcome.outcome === 'done' && outcome.recorded?.batch) onRecorded(outcome.recorded.batch);
  return outcome;
}
