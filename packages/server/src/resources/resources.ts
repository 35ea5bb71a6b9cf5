import type { Resources } from '../../types/resources.js';
import type { EventOf, EventTypeName } from '../catalogue/catalogue.js';
import { eventJson } from '../events/event.js';
import { queryable, type TransactionClient } from '../events/recording-store.js';
import { InvalidInput } from '../values/fault.js';
import { type CompletedMove, type CreationRequest, create, makeMove } from './moves.js';
import { type LifecycleRequest, refusalOf, resourceBody } from './resource.js';
import * as schemas from './resource-schema.js';
import { readResource as read } from './resource-store.js';

export type MoveName<Name extends schemas.ResourceName> = keyof Resources[Name]['moves'] & string;

/** A resource as it appears in responses. */
export type Resource<Name extends schemas.ResourceName> = Resources[Name]['resource'];
/** The body of a creation request. */
export type ResourceCreation<Name extends schemas.ResourceName> = Resources[Name]['creation'];
/** The body of a move request. */
export type ResourceMove<
  Name extends schemas.ResourceName,
  Move extends MoveName<Name>,
> = Resources[Name]['moves'][Move] extends { request: infer Request } ? Request : never;

type EventOrNone<Type> = Type extends EventTypeName ? EventOf<Type> : undefined;
/** The event that is recorded when a resource is created, or undefined if there is none. */
export type CreationEvent<Name extends schemas.ResourceName> = EventOrNone<Resources[Name]['created']>;
export type MoveEvent<
  Name extends schemas.ResourceName,
  Move extends MoveName<Name>,
> = Resources[Name]['moves'][Move] extends { event: infer Type } ? EventOrNone<Type> : never;

/** Reports an invalid creation or move. The caller's transaction is untouched. */
export class InvalidResource extends InvalidInput {
  override name = 'InvalidResource';
}

/** Reports a resource that does not exist, as far as the transaction can see. */
export class ResourceNotFound extends Error {
  override name = 'ResourceNotFound';
}

/** Reports a move that the status of the resource does not allow. Nothing was written. */
export class MoveNotAllowed extends Error {
  override name = 'MoveNotAllowed';
  readonly status: string;
  readonly possibleMoves: readonly string[];

  constructor(id: string, move: string, status: string, possibleMoves: readonly string[]) {
    super(refusalOf(id, status, move, possibleMoves));
    this.status = status;
    this.possibleMoves = possibleMoves;
  }
}

// No HTTP request makes the change, and the caller is not a node with room for the deliveries: any node that gets the
// notification sends them.
const context = { request_id: null, source_address: null };

/**
 * Creates a resource in the caller's `pg` transaction, with its audit log entry and its event, if there is one. They
 * exist only if the transaction commits.
 */
export async function createResource<Name extends schemas.ResourceName>(
  client: TransactionClient,
  name: Name,
  creation: ResourceCreation<Name>,
): Promise<{ data: Resource<Name>; event: CreationEvent<Name> }> {
  const lifecycle = lifecycleOf(name);
  refuseFaults(lifecycle, undefined, creation);
  const done = await create(queryable(client), lifecycle, creation as unknown as CreationRequest, context);
  return resultOf(lifecycle, done) as { data: Resource<Name>; event: CreationEvent<Name> };
}

/**
 * Makes a move in the caller's `pg` transaction, with its event and audit log entry. Throws `MoveNotAllowed` if the
 * status does not allow it; the transaction can continue.
 */
export async function moveResource<Name extends schemas.ResourceName, Move extends MoveName<Name>>(
  client: TransactionClient,
  name: Name,
  id: string,
  move: Move,
  request: ResourceMove<Name, Move>,
): Promise<{ data: Resource<Name>; event: MoveEvent<Name, Move> }> {
  const lifecycle = lifecycleOf(name, move);
  refuseFaults(lifecycle, lifecycle.moves[move], request);
  const body = request as unknown as LifecycleRequest;
  const moved = await makeMove(queryable(client), lifecycle, move, id, body, context);
  if (moved.outcome === 'unknown') throw notFound(name, id);
  if (moved.outcome === 'refused') {
    throw new MoveNotAllowed(id, move, moved.resource.status, moved.possibleMoves);
  }
  return resultOf(lifecycle, moved) as { data: Resource<Name>; event: MoveEvent<Name, Move> };
}

/** Reads a resource, as the caller's transaction sees it. */
export async function readResource<Name extends schemas.ResourceName>(
  client: TransactionClient,
  name: Name,
  id: string,
): Promise<Resource<Name>> {
  const lifecycle = lifecycleOf(name);
  const resource = await read(queryable(client), lifecycle.kind, id);
  if (!resource) throw notFound(name, id);
  return resourceBody(lifecycle, resource) as Resource<Name>;
}

/** Checks the names at run time, for callers without types. */
function lifecycleOf(name: string, move?: string): schemas.Lifecycle {
  const known: Readonly<Record<string, schemas.Lifecycle>> = schemas.lifecycles;
  const lifecycle = Object.hasOwn(known, name) ? known[name] : undefined;
  if (!lifecycle)
    throw new TypeError(`unknown resource '${name}'; known resources: ${Object.keys(known).join(', ')}`);
  if (move !== undefined && !Object.hasOwn(lifecycle.moves, move)) {
    throw new TypeError(
      `${name} have no move '${move}'; known moves: ${Object.keys(lifecycle.moves).join(', ')}`,
    );
  }
  return lifecycle;
}

const checkers = new Map<schemas.Lifecycle | schemas.Move, schemas.InputChecker>();

function refuseFaults(lifecycle: schemas.Lifecycle, move: schemas.Move | undefined, given: unknown): void {
  const key = move ?? lifecycle;
  const check =
    checkers.get(key) ??
    schemas.createInputChecker(
      move ? schemas.moveSchema(lifecycle, move) : schemas.creationSchema(lifecycle),
    );
  checkers.set(key, check);
  const faults = check(given);
  if (faults.length > 0) throw new InvalidResource(faults);
}

function notFound(name: string, id: string): ResourceNotFound {
  return new ResourceNotFound(`there is no ${id} in ${name}`);
}

function resultOf(
  lifecycle: schemas.Lifecycle,
  { resource, recorded }: CompletedMove,
): { data: unknown; event: unknown } {
  return {
    data: resourceBody(lifecycle, resource),
    event: recorded && JSON.parse(eventJson(recorded.event)),
  };
}
