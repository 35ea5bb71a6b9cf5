import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type, { type TSchema } from 'typebox';
import type { EventTypeName } from '../domain/catalogue.js';
import { eventJson } from '../domain/event.js';
import { type Lifecycle, refusalOf } from '../domain/lifecycle.js';
import { lifecycles } from '../domain/lifecycles.js';
import { Problem } from '../domain/problem.js';
import { resourceBody } from '../domain/resource.js';
import { createInputChecker } from '../domain/resource-input.js';
import {
  creationSchema,
  moveSchema,
  payloadFields,
  resourceSchema,
  titleOf,
} from '../domain/resource-schema.js';
import type { Database } from '../storage/database.js';
import { readResource } from '../storage/resources.js';
import { EventSchema } from '../web/event-schema.js';
import {
  type CreationRequest,
  create,
  type Done,
  type LifecycleRequest,
  type MoveOutcome,
  makeMove,
} from './lifecycle.js';
import { Mover, type MoverOptions } from './mover.js';

export const lifecycleTag = {
  name: 'Lifecycles',
  description:
    'Resources with a status. A move writes the status, the event and the audit entry in one transaction; one that ' +
    'the status does not allow is 409 and leaves nothing.',
};

const tags = [lifecycleTag.name];

/** Creates, moves and reads each resource of the table: every path is there by itself, for the reference. */
export function lifecycleRoutes(app: FastifyInstance, options: MoverOptions): void {
  const mover = new Mover(options);
  for (const [path, lifecycle] of Object.entries(lifecycles)) {
    creationRoute(app, path, lifecycle, mover);
    readRoute(app, path, lifecycle, options.database);
    for (const name of Object.keys(lifecycle.moves)) moveRoute(app, path, lifecycle, name, mover);
  }
}

function creationRoute(app: FastifyInstance, path: string, lifecycle: Lifecycle, mover: Mover): void {
  const { to, event } = lifecycle.creation;
  const body = creationSchema(lifecycle);
  const check = createInputChecker(body);
  const noun = nounOf(lifecycle);
  app.post<{ Body: CreationRequest }>(
    `/platform/${path}`,
    {
      config: { bodyIsChecked: true, check: (request) => check(request.body) },
      schema: {
        operationId: `create${titleOf(lifecycle.kind)}`,
        tags,
        summary: `Create ${article(noun)}`,
        description: `It is \`${to}\` then. ${event ? `Records \`${event}\`.` : 'No event tells of it.'}`,
        body,
        response: { 201: answerSchema(lifecycle, event) },
      },
    },
    async (request, reply) => {
      const done = await mover.run(originOf(request), (client, setting) =>
        create(client, lifecycle, request.body, setting),
      );
      reply.status(201).header('Location', `/platform/${path}/${done.resource.id}`);
      return answer(reply, lifecycle, done);
    },
  );
}

function moveRoute(
  app: FastifyInstance,
  path: string,
  lifecycle: Lifecycle,
  name: string,
  mover: Mover,
): void {
  const move = lifecycle.moves[name]!;
  // `change-severity`: what is done, and to what of it.
  const [verb = '', object = ''] = name.split('-');
  const body = moveSchema(lifecycle, move);
  const check = createInputChecker(body);
  const steps = Object.entries(move.takes).map(([from, to]) => `\`${from}\` to \`${to}\``);
  app.post<{ Params: { id: string }; Body: LifecycleRequest }>(
    `/platform/${path}/:id/${name}`,
    {
      config: {
        bodyIsChecked: true,
        check: (request) => check(request.body),
        refusals: ['move_not_allowed'],
      },
      schema: {
        operationId: `${verb}${titleOf(lifecycle.kind)}${titleOf(object)}`,
        tags,
        summary: `${titleOf(verb)} ${article(nounOf(lifecycle))}${object && `'s ${object}`}`,
        description: `From ${steps.join(', ')}. Records \`${move.event}\`.`,
        params: paramsOf(lifecycle),
        body,
        response: { 200: answerSchema(lifecycle, move.event) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const moved = await mover.run(originOf(request), (client, setting) =>
        makeMove(client, lifecycle, name, id, request.body, setting),
      );
      if (moved.outcome === 'unknown') throw noSuch(lifecycle);
      if (moved.outcome === 'refused') throw notAllowed(lifecycle, name, moved);
      return answer(reply, lifecycle, moved);
    },
  );
}

function readRoute(app: FastifyInstance, path: string, lifecycle: Lifecycle, database: Database): void {
  app.get<{ Params: { id: string } }>(
    `/platform/${path}/:id`,
    {
      schema: {
        operationId: `get${titleOf(lifecycle.kind)}`,
        tags,
        summary: `Read ${article(nounOf(lifecycle))}`,
        params: paramsOf(lifecycle),
        response: { 200: Type.Object({ data: resourceSchema(lifecycle) }) },
      },
    },
    async (request) => {
      const resource = await readResource(database, lifecycle.kind, request.params.id);
      if (!resource) throw noSuch(lifecycle);
      return { data: resourceBody(lifecycle, resource) };
    },
  );
}

/** Written by hand, as for reading, so that the payload is the text that was recorded. */
function answer(reply: FastifyReply, lifecycle: Lifecycle, { resource, recorded }: Done): FastifyReply {
  const data = JSON.stringify(resourceBody(lifecycle, resource));
  const event = recorded ? `,"event":${eventJson(recorded.event)}` : '';
  return reply.type('application/json; charset=utf-8').send(`{"data":${data}${event}}`);
}

function answerSchema(lifecycle: Lifecycle, event: EventTypeName | undefined): TSchema {
  const data = resourceSchema(lifecycle);
  return event === undefined
    ? Type.Object({ data })
    : Type.Object({ data, event: eventSchema(lifecycle, event) });
}

function eventSchema({ kind, prefix }: Lifecycle, type: EventTypeName): TSchema {
  const { properties, ...rest } = EventSchema;
  const fields = Object.entries(payloadFields(type)).map(([name, field]) => [name, Type.Optional(field)]);
  return Type.Object(
    {
      ...properties,
      type: Type.Enum([type]),
      subject: Type.Object({ type: Type.Enum([kind]), id: Type.String({ pattern: `^${prefix}-` }) }),
      payload: Type.Object(Object.fromEntries(fields)),
    },
    rest,
  );
}

function paramsOf({ prefix }: Lifecycle) {
  return Type.Object({ id: Type.String({ examples: [`${prefix}-01JAB3C4D5E6F7G8H9J0K1M2N3`] }) });
}

function noSuch(lifecycle: Lifecycle): Problem {
  return new Problem('not_found', `There is no such ${nounOf(lifecycle)}.`);
}

function notAllowed(
  lifecycle: Lifecycle,
  move: string,
  { resource, possibleMoves }: Extract<MoveOutcome, { outcome: 'refused' }>,
): Problem {
  const detail = refusalOf(`The ${nounOf(lifecycle)}`, resource.status, move, possibleMoves);
  return new Problem('move_not_allowed', detail, { possibleMoves });
}

const originOf = ({ id, ip }: FastifyRequest) => ({ request_id: id, source_address: ip });
const nounOf = ({ kind }: Lifecycle) => kind.replaceAll('_', ' ');
const article = (noun: string) => `${/^[aeiou](?!ser)/.test(noun) ? 'an' : 'a'} ${noun}`;
