import { setTimeout as delay } from 'node:timers/promises';
import type { AuditOrigin } from '../audit/audit.js';
import { writeAudit } from '../audit/audit-store.js';
import { createCatalogue, type EventTypeName } from '../catalogue/catalogue.js';
import { builtinTypes } from '../catalogue/catalogue-file.js';
import { createPayloadValidator } from '../catalogue/payload.js';
import type { StoredEvent } from '../events/event.js';
import { batchOf, type RecordedBatch, type Room, recordBatch } from '../events/recording-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { isCanceled, isLockTimeout, isUnreachable } from '../postgres/database-errors.js';
import { Semaphore } from '../signals/semaphore.js';
import { idTimeMs } from '../values/identifier.js';
import { type Problem, unavailable } from '../values/problem.js';
import { type Lifecycle, possibleMoves } from './lifecycles.js';
import * as resources from './resource.js';
import { createResource, limitLockWaits, moveResource } from './resource-store.js';

export type CreationRequest = resources.LifecycleRequest & {
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
  resource: resources.StoredResource;
  recorded: { event: StoredEvent; batch: RecordedBatch } | undefined;
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
  await writeAudit(client, [
    {
      organization_id: after.organization_id,
      workspace_id: after.workspace_id,
      ...origin,
      actor: request.actor,
      action: type ?? `${lifecycle.kind}.created`,
      target: { type: lifecycle.kind, id: after.id },
      changes: resources.resourceChanges(change),
    },
  ]);
  return { outcome: 'done', resource: after, recorded };
}

async function recordEvent(
  client: Queryable,
  type: EventTypeName,
  change: resources.Change,
  room: Room | undefined,
): Promise<{ event: StoredEvent; batch: RecordedBatch }> {
  const payload = resources.payloadOf(type, change);
  const faults = validatePayload(type, payload);
  if (faults.length > 0) {
    // The request was validated, so this is a mistake in the table of moves.
    throw new Error(`${type}: ${faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')}`);
  }
  const { organization_id, workspace_id, kind, id: subjectId } = change.after;
  const { actor } = change.request;
  const subject = { type: kind, id: subjectId };
  const happening = batchOf([{ type, organization_id, workspace_id, actor, subject, payload }]);
  const batch = await recordBatch(client, happening, room);
  const { id } = batch.events[0]!;
  const event: StoredEvent = {
    ...{ id, type, organization_id, workspace_id, payload: happening.payloads[0]! },
    ...{ actor_type: actor.type, actor_id: actor.id, subject_type: kind, subject_id: subjectId },
    // The caller's driver may parse times differently, so take the time from the ID.
    created_at: new Date(idTimeMs('EVT', id)!),
  };
  return { event, batch };
}

export interface MoverOptions {
  database: Database;
  room: () => Room;
  /** Called with the recorded batch after the commit. */
  onRecorded: (batch: RecordedBatch) => void;
}

/**
 * More transactions would take connections that recording and delivering need, and transactions of one organization
 * wait for each other anyway. One organization cannot take all of them: if other transactions lock its resources, moves
 * in other organizations continue.
 */
const transactionsMax = 4;
const eachMax = 2;
/**
 * A request that has waited this long is refused when a transaction cannot reach the database or times out. Otherwise,
 * there would be no time left to respond within 5 s.
 */
const waitMsMax = 2_000;
/** PostgreSQL ends one of two deadlocked transactions. It is rolled back, so it can be retried. */
const deadlockDetected = '40P01';
const triesMax = 3;
/** Lets the other transaction get its lock first. Otherwise, the two would deadlock again. */
const retryMs = 50;

/** Runs creations and moves, each in its own transaction, a few at a time. */
export class Mover {
  readonly #options: MoverOptions;
  readonly #semaphore = new Semaphore(transactionsMax, eachMax);

  constructor(options: MoverOptions) {
    this.#options = options;
  }

  /** Runs `work` in a transaction for this organization and hands over the recorded batch after the commit. */
  async run<Outcome extends MoveOutcome>(
    organizationId: string,
    origin: Omit<MoveContext, 'room'>,
    work: (client: Queryable, context: MoveContext) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { database, room, onRecorded } = this.#options;
    const transact = () =>
      database.transaction(async (client) => {
        await limitLockWaits(client);
        return work(client, { ...origin, room: room() });
      });
    const outcome = await this.#semaphore.run(organizationId, () => this.#repeated(organizationId, transact));
    if (outcome.outcome === 'done' && outcome.recorded) onRecorded(outcome.recorded.batch);
    return outcome;
  }

  async #repeated<T>(organizationId: string, transact: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await transact();
      } catch (error) {
        if (isUnreachable(error)) this.#semaphore.rejectWaiting(error, waitMsMax);
        if (isLockTimeout(error) || isCanceled(error))
          this.#semaphore.rejectWaiting(error, waitMsMax, organizationId);
        const isDeadlock = (error as { code?: string }).code === deadlockDetected;
        if (!isDeadlock) throw error;
        if (tries === triesMax) throw deadlocked();
        await delay(retryMs * tries);
      }
    }
  }
}

function deadlocked(): Problem {
  return unavailable(
    'Other transactions keep locking the same resources in a different order. Nothing was changed. Try again.',
  );
}
