import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuseElsewhere } from '../cells/elsewhere.js';
import { eventJson } from '../events/event.js';
import type { Database } from '../postgres/database.js';
import { Problem } from '../values/problem.js';
import { lifecycleOperations, nounOf, type ResourceOperations } from './lifecycle-operations.js';
import type { Lifecycle } from './lifecycles.js';
import {
  type CompletedMove,
  type CreationRequest,
  create,
  type MoveOutcome,
  Mover,
  type MoverOptions,
  makeMove,
} from './moves.js';
import { type LifecycleRequest, refusalOf, resourceBody } from './resource.js';
import { readResource } from './resource-store.js';

/** Adds the routes that create, move and read resources, for each type of resource in `lifecycles`. */
export function lifecycleRoutes(app: FastifyInstance, options: MoverOptions): void {
  const mover = new Mover(options);
  for (const resource of lifecycleOperations()) {
    creationRoute(app, resource, mover);
    readRoute(app, resource, options.database);
    for (const name of Object.keys(resource.moves))
      moveRoute(app, resource, name, { mover, database: options.database });
  }
}

function creationRoute(
  app: FastifyInstance,
  { path, lifecycle, creation: { schema, check } }: ResourceOperations,
  mover: Mover,
): void {
  app.post<{ Body: CreationRequest }>(
    `/platform/${path}`,
    {
      config: { bodyIsChecked: true, sends: ['Location'], check: (request) => check(request.body) },
      schema,
    },
    async (request, reply) => {
      const { body } = request;
      const done = await mover.run(body.organization_id, originOf(request), (client, context) =>
        create(client, lifecycle, body, context),
      );
      reply.status(201).header('Location', `/platform/${path}/${done.resource.id}`);
      return respond(reply, lifecycle, done);
    },
  );
}

function moveRoute(
  app: FastifyInstance,
  { path, lifecycle, moves }: ResourceOperations,
  name: string,
  { mover, database }: { mover: Mover; database: Database },
): void {
  const { schema, check } = moves[name]!;
  app.post<{ Params: { id: string }; Body: LifecycleRequest }>(
    `/platform/${path}/:id/${name}`,
    {
      config: {
        bodyIsChecked: true,
        check: (request) => check(request.body),
        refusals: ['move_not_allowed'],
      },
      schema,
    },
    async (request, reply) => {
      const { id } = request.params;
      const found = await readResource(database, lifecycle.kind, id);
      if (!found) throw noSuch(lifecycle);
      const moved = await mover.run(found.organization_id, originOf(request), (client, context) =>
        makeMove(client, lifecycle, name, id, request.body, context),
      );
      if (moved.outcome === 'unknown') throw noSuch(lifecycle);
      if (moved.outcome === 'refused') {
        // If the organization has moved to another cell, the copy of the resource that stayed here may be out of date.
        await refuseElsewhere(database, moved.resource.organization_id);
        throw notAllowed(lifecycle, name, moved);
      }
      return respond(reply, lifecycle, moved);
    },
  );
}

function readRoute(
  app: FastifyInstance,
  { path, lifecycle, read }: ResourceOperations,
  database: Database,
): void {
  app.get<{ Params: { id: string } }>(`/platform/${path}/:id`, read, async (request) => {
    const resource = await readResource(database, lifecycle.kind, request.params.id);
    if (!resource) throw noSuch(lifecycle);
    await refuseElsewhere(database, resource.organization_id);
    return { data: resourceBody(lifecycle, resource) };
  });
}

/** Sends the resource and its event. Concatenates the JSON so that the payload text stays as recorded. */
function respond(
  reply: FastifyReply,
  lifecycle: Lifecycle,
  { resource, recorded }: CompletedMove,
): FastifyReply {
  const data = JSON.stringify(resourceBody(lifecycle, resource));
  const event = recorded ? `,"event":${eventJson(recorded.event)}` : '';
  return reply.type('application/json; charset=utf-8').send(`{"data":${data}${event}}`);
}

function noSuch(lifecycle: Lifecycle): Problem {
  return new Problem('not_found', `The ${nounOf(lifecycle)} does not exist.`);
}

function notAllowed(
  lifecycle: Lifecycle,
  move: string,
  { resource, possibleMoves }: Extract<MoveOutcome, { outcome: 'refused' }>,
): Problem {
  const detail = refusalOf(`The ${nounOf(lifecycle)}`, resource.status, move, possibleMoves);
  return new Problem('move_not_allowed', detail, { possibleMoves });
}

const originOf = ({ id, sourceAddress }: FastifyRequest) => ({
  request_id: id,
  source_address: sourceAddress,
});
