import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type, { type TSchema } from 'typebox';
import type { EventTypeName } from '../domain/catalogue.js';
import { eventJson } from '../domain/event.js';
import { type Lifecycle, type Move, refusalOf } from '../domain/lifecycle.js';
import { creationSample, moveSample, sampleId } from '../domain/lifecycle-sample.js';
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
import type { Tag } from '../web/api-document.js';
import { EventSchema } from '../web/event-schema.js';
import { table } from '../web/markdown.js';
import { refuseElsewhere } from './elsewhere.js';
import {
  type CompletedMove,
  type CreationRequest,
  create,
  type LifecycleRequest,
  type MoveOutcome,
  makeMove,
} from './lifecycle.js';
import { Mover, type MoverOptions } from './mover.js';

/** One tag per resource, with its table of moves. */
export const lifecycleTags: readonly Tag[] = Object.values(lifecycles).map(tagOf);

/** Adds the routes that create, move and read each resource of the table. */
export function lifecycleRoutes(app: FastifyInstance, options: MoverOptions): void {
  const mover = new Mover(options);
  for (const [path, lifecycle] of Object.entries(lifecycles)) {
    creationRoute(app, path, lifecycle, mover);
    readRoute(app, path, lifecycle, options.database);
    for (const name of Object.keys(lifecycle.moves))
      moveRoute(app, path, lifecycle, name, { mover, database: options.database });
  }
}

function creationRoute(app: FastifyInstance, path: string, lifecycle: Lifecycle, mover: Mover): void {
  const { to, event } = lifecycle.creation;
  const body = creationSchema(lifecycle);
  const check = createInputChecker(body);
  const noun = nounOf(lifecycle);
  const sample = creationSample(lifecycle);
  app.post<{ Body: CreationRequest }>(
    `/platform/${path}`,
    {
      config: { bodyIsChecked: true, sends: ['Location'], check: (request) => check(request.body) },
      schema: {
        operationId: `create${titleOf(lifecycle.kind)}`,
        tags: [tagName(lifecycle)],
        summary: `Create ${article(noun)}`,
        description: `The initial status is \`${to}\`. ${event ? `Records \`${event}\`.` : 'Records no event.'}`,
        body: { ...body, examples: [sample.request] },
        response: { 201: responseSchema(lifecycle, event, sample.response) },
      },
    },
    async (request, reply) => {
      const done = await mover.run(originOf(request), (client, context) =>
        create(client, lifecycle, request.body, context),
      );
      reply.status(201).header('Location', `/platform/${path}/${done.resource.id}`);
      return respond(reply, lifecycle, done);
    },
  );
}

function moveRoute(
  app: FastifyInstance,
  path: string,
  lifecycle: Lifecycle,
  name: string,
  { mover, database }: { mover: Mover; database: Database },
): void {
  const move = lifecycle.moves[name]!;
  const body = moveSchema(lifecycle, move);
  const check = createInputChecker(body);
  const sample = moveSample(lifecycle, name);
  app.post<{ Params: { id: string }; Body: LifecycleRequest }>(
    `/platform/${path}/:id/${name}`,
    {
      config: {
        bodyIsChecked: true,
        check: (request) => check(request.body),
        refusals: ['move_not_allowed'],
      },
      schema: {
        operationId: moveOperation(lifecycle, name),
        tags: [tagName(lifecycle)],
        summary: move.summary ?? `${titleOf(name)} ${article(nounOf(lifecycle))}`,
        description: moveDescription(move),
        params: paramsOf(lifecycle),
        body: { ...body, examples: [sample.request] },
        response: { 200: responseSchema(lifecycle, move.event, sample.response) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const moved = await mover.run(originOf(request), (client, context) =>
        makeMove(client, lifecycle, name, id, request.body, context),
      );
      if (moved.outcome === 'unknown') throw noSuch(lifecycle);
      if (moved.outcome === 'refused') {
        // The copy that an organization left behind has an old status.
        await refuseElsewhere(database, moved.resource.organization_id);
        throw notAllowed(lifecycle, name, moved);
      }
      return respond(reply, lifecycle, moved);
    },
  );
}

function readRoute(app: FastifyInstance, path: string, lifecycle: Lifecycle, database: Database): void {
  app.get<{ Params: { id: string } }>(
    `/platform/${path}/:id`,
    {
      schema: {
        operationId: `get${titleOf(lifecycle.kind)}`,
        tags: [tagName(lifecycle)],
        summary: `Get ${article(nounOf(lifecycle))}`,
        description: 'Returns the resource with its current status.',
        params: paramsOf(lifecycle),
        response: {
          200: Type.Object(
            { data: resourceSchema(lifecycle) },
            { examples: [{ data: creationSample(lifecycle).response.data }] },
          ),
        },
      },
    },
    async (request) => {
      const resource = await readResource(database, lifecycle.kind, request.params.id);
      if (!resource) throw noSuch(lifecycle);
      await refuseElsewhere(database, resource.organization_id);
      return { data: resourceBody(lifecycle, resource) };
    },
  );
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

function responseSchema(lifecycle: Lifecycle, event: EventTypeName | undefined, sample: unknown): TSchema {
  const data = resourceSchema(lifecycle);
  return event === undefined
    ? Type.Object({ data }, { examples: [sample] })
    : Type.Object({ data, event: eventSchema(lifecycle, event) }, { examples: [sample] });
}

/** Returns the schema of an event of this type. Previous values are optional, because a creation has none. */
function eventSchema({ kind, prefix }: Lifecycle, type: EventTypeName): TSchema {
  const { properties } = EventSchema;
  const fields = Object.entries(payloadFields(type)).map(([name, field]) => [name, Type.Optional(field)]);
  return Type.Object(
    {
      ...properties,
      type: Type.Enum([type], { description: 'Event type.' }),
      subject: Type.Object(
        {
          type: Type.Enum([kind], { description: 'Type.' }),
          id: Type.String({ pattern: `^${prefix}-`, description: 'ID.' }),
        },
        { title: `${titleOf(kind)}Subject`, description: 'What the event is about.' },
      ),
      payload: Type.Object(Object.fromEntries(fields), { description: 'Depends on the event type.' }),
    },
    { title: `${titleOf(type.replaceAll('.', '_'))}Event`, additionalProperties: false },
  );
}

function paramsOf(lifecycle: Lifecycle) {
  const description = 'Resource ID.';
  return Type.Object({ id: Type.String({ description, examples: [sampleId(lifecycle)] }) });
}

function moveDescription({ transitions, event }: Move): string {
  const outcome = keepsStatus(transitions)
    ? 'The status does not change.'
    : `The new status is ${listed(Object.values(transitions))}.`;
  const allowed = listed(Object.keys(transitions)).replace(/, (?=[^,]*$)/, ' or ');
  return `Allowed when the status is ${allowed}. ${outcome} Records \`${event}\`.`;
}

function tagOf(lifecycle: Lifecycle): Tag {
  const { prefix, creation, moves } = lifecycle;
  const rows = Object.entries(moves).map(([name, { transitions, event }]) => [
    `\`${name}\``,
    listed(Object.keys(transitions)),
    keepsStatus(transitions) ? 'unchanged' : listed(Object.values(transitions)),
    `\`${event}\``,
  ]);
  const movesTable = table(['Move', 'From', 'To', 'Event'], rows);
  return {
    name: tagName(lifecycle),
    description: `IDs start with \`${prefix}-\`. The initial status is \`${creation.to}\`.\n\n${movesTable}`,
  };
}

function keepsStatus(transitions: Move['transitions']): boolean {
  return Object.entries(transitions).every(([from, to]) => from === to);
}

function listed(statuses: readonly string[]): string {
  return [...new Set(statuses)].map((status) => `\`${status}\``).join(', ');
}

/** Turns `service_line` into `Service lines`. */
function tagName(lifecycle: Lifecycle): string {
  const noun = nounOf(lifecycle);
  const plural = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return plural.charAt(0).toUpperCase() + plural.slice(1);
}

function nounOf({ kind }: Lifecycle): string {
  return kind.replaceAll('_', ' ');
}

function moveOperation({ kind }: Lifecycle, move: string): string {
  const [verb = '', object = ''] = move.split('-');
  return `${verb}${titleOf(kind)}${titleOf(object)}`;
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
const article = (noun: string) => `${/^[aeiou](?!ser)/.test(noun) ? 'an' : 'a'} ${noun}`;
