import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Catalogue } from '../catalogue/catalogue.js';
import { refuseElsewhere } from '../cells/relocation-store.js';
import { eventJson } from '../events/event.js';
import type { RecorderOptions } from '../events/recorder.js';
import { Problem } from '../values/problem.js';
import { route, type Tag } from '../web/route.js';
import * as moves from './moves.js';
import { type LifecycleRequest, refusalOf, resourceBody } from './resource.js';
import { creationColumns, moveColumns, nounOf, readColumns, tagOf } from './resource-operations.js';
import { type Lifecycle, lifecycles } from './resource-schema.js';
import { readResource } from './resource-store.js';

/**
 * Returns the routes that create, move and read resources, with a heading for each type of resource in `lifecycles`. They
 * exist only while the built-in types are in the catalogue.
 */
export function lifecycleTags(options: RecorderOptions, catalogue: Catalogue): readonly Required<Tag>[] {
  const { database } = options;
  const isOff = () => !catalogue.builtin;
  return Object.entries(lifecycles).map(([path, lifecycle]) => {
    const routes = [
      route(`POST /platform/${path}`, {
        ...creationColumns(lifecycle),
        handler: async (request, reply) => {
          const body = request.body as moves.CreationRequest;
          const done = await moves.runMove(
            options,
            body.organization_id,
            originOf(request),
            (client, context) => moves.create(client, lifecycle, body, context),
          );
          reply.header('Location', `/platform/${path}/${done.resource.id}`);
          return respond(reply, lifecycle, done);
        },
      }),
      route(`GET /platform/${path}/{id}`, {
        ...readColumns(lifecycle),
        handler: async (request) => {
          const resource = await readResource(database, lifecycle.kind, idOf(request));
          if (!resource) throw noSuch(lifecycle);
          await refuseElsewhere(database, resource.organization_id);
          return { data: resourceBody(lifecycle, resource) };
        },
      }),
      ...Object.keys(lifecycle.moves).map((name) =>
        route(`POST /platform/${path}/{id}/${name}`, {
          ...moveColumns(lifecycle, name),
          handler: async (request, reply) => {
            const id = idOf(request);
            const found = await readResource(database, lifecycle.kind, id);
            if (!found) throw noSuch(lifecycle);
            const body = request.body as LifecycleRequest;
            const moved = await moves.runMove(
              options,
              found.organization_id,
              originOf(request),
              (client, context) => moves.makeMove(client, lifecycle, name, id, body, context),
            );
            if (moved.outcome === 'unknown') throw noSuch(lifecycle);
            if (moved.outcome === 'refused') {
              // If the organization has moved to another cell, the copy of the resource that stayed here may be out of date.
              await refuseElsewhere(database, moved.resource.organization_id);
              const { resource, possibleMoves } = moved;
              const detail = refusalOf(`The ${nounOf(lifecycle)}`, resource.status, name, possibleMoves);
              throw new Problem('move_not_allowed', detail, { possibleMoves });
            }
            return respond(reply, lifecycle, moved);
          },
        }),
      ),
    ];
    return { ...tagOf(lifecycle), routes: routes.map((each) => ({ ...each, isOff })) };
  });
}

const idOf = ({ params }: FastifyRequest) => (params as { id: string }).id;

/** Sends the resource and its event. Concatenates the JSON so that the payload text stays as recorded. */
function respond(
  reply: FastifyReply,
  lifecycle: Lifecycle,
  { resource, recorded }: moves.CompletedMove,
): FastifyReply {
  const data = JSON.stringify(resourceBody(lifecycle, resource));
  const event = recorded ? `,"event":${eventJson(recorded.event)}` : '';
  return reply.type('application/json; charset=utf-8').send(`{"data":${data}${event}}`);
}

function noSuch(lifecycle: Lifecycle): Problem {
  return new Problem('not_found', `The ${nounOf(lifecycle)} does not exist.`);
}

const originOf = ({ id, sourceAddress }: FastifyRequest) => ({
  request_id: id,
  source_address: sourceAddress,
});
