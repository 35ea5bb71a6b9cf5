import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { type InputFault, Problem, type ProblemCode } from '../values/problem.js';
import { text } from './schemas.js';

export interface Tenancy {
  organization_id: string;
  /** The only workspace that this request may see, or undefined for the whole organization. */
  workspace_id: string | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the route's `input` returned. */
    input: unknown;
    /** What the request may access. Set if the route has scopes. */
    tenancy: Tenancy;
  }
}

/** A request whose query, path, body and input are valid. */
type ValidRequest<Query extends TObject, Params, Body extends TSchema, Input> = FastifyRequest<{
  Querystring: Static<Query>;
  Params: Params;
  Body: Static<Body>;
}> & { input: Input };

/** A request that may have values that the schemas refuse. A query or body that is no object is empty here. */
export interface Arrived {
  request: FastifyRequest;
  query: Readonly<Record<string, unknown>>;
  body: Readonly<Record<string, unknown>>;
}

type Columns = Omit<NonNullable<RouteOptions['config']>, 'check' | 'queryIsIgnored' | 'validate'> &
  Pick<RouteOptions, 'compress' | 'preParsing'>;

/**
 * One operation of an API: who may call it, what it accepts, returns and refuses, and what handles it. Requests are
 * validated against it, and the OpenAPI document describes it.
 */
export interface Route extends Operation {
  method: Method;
  /** Names of parameters are in braces. */
  path: string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Operation<
  Query extends TObject = TObject,
  Params = unknown,
  Body extends TSchema = TSchema,
  Input = unknown,
> extends Columns {
  operationId: string;
  summary: string;
  description: string;
  /** The IDs in the path. By default, those of their collections. */
  params?: TObject;
  query?: Query;
  headers?: TObject;
  body?: Body;
  /** The media types of the body and of the response. The default is JSON. */
  consumes?: readonly string[];
  produces?: readonly string[];
  /** The successful responses by status. */
  returns: Readonly<Record<number, TSchema>>;
  /** Headers that a successful response has in addition to the usual ones. */
  sends?: readonly ('Location' | 'ETag')[];
  /** Codes that this route can return in addition to those that follow from the other fields. */
  refusals?: readonly ProblemCode[];
  /** Reads what schemas cannot express and returns it to the handler. Adds what is wrong to the faults. */
  input?: (arrived: Arrived, faults: InputFault[]) => Input | Promise<Input>;
  handler: (request: ValidRequest<Query, Params, Body, Input>, reply: FastifyReply) => unknown;
}

/** The IDs in paths, by their collections. */
const ids: Readonly<Record<string, TSchema>> = {
  events: text('Event ID.', 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3'),
  webhooks: text('Webhook ID.', 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'),
  deliveries: text('Delivery ID.', 'WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3'),
  replays: text('Replay ID.', 'RPL-01JAB3C4D5E6F7G8H9J0K1M2N3'),
  tokens: text('Token ID.', 'TOK-01KA3Z8M5Q2V7X4C9E1G6J8N0R'),
  organizations: text('Organization ID.', 'ORG-demo'),
};

type ParamsOf<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Record<Name, string> & ParamsOf<Rest>
  : unknown;

/** Returns the route of a method and a path. The types of its handler's request are derived from its path and schemas. */
export function route<Path extends string, Query extends TObject, Body extends TSchema, Input>(
  name: `${Method} ${Path}`,
  operation: Operation<Query, ParamsOf<Path>, Body, Input>,
): Route {
  const [method, path] = name.split(' ') as [Method, Path];
  const places = [...path.matchAll(/([\w-]+)\/\{(\w+)\}/g)];
  const params = Type.Object(
    Object.fromEntries(places.map(([, collection, id]) => [id!, ids[collection!]!])),
  );
  return { method, path, params, ...operation } as object as Route;
}

/** A part of the reference: operations under one heading, or a guide. */
export interface Tag {
  name: string;
  description: string;
  routes?: readonly Route[];
}

/** Returns a Markdown table. Cells are Markdown without line breaks. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

export function addRoutes(app: FastifyInstance, routes: readonly Route[]): void {
  for (const each of routes) {
    const { method, path, query, body, input, handler, compress, preParsing, ...columns } = each;
    const [status] = Object.keys(each.returns);
    const asksFor = query?.properties.organization_id ? 'query' : 'body';
    const check = input && ((request: FastifyRequest) => readInput(request, input));
    app.route({
      method,
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      schema: { ...(query && { querystring: query }), ...(body && { body }) },
      config: { ...columns, ...(check && { check }) },
      ...(compress !== undefined && { compress }),
      ...(preParsing && { preParsing }),
      handler: (request, reply) => {
        if (each.scopes) request.tenancy = tenancyOf(request.token, objectOf(request[asksFor]));
        return handler(request as never, reply.status(Number(status)));
      },
    });
  }
}

function readInput(
  request: FastifyRequest,
  input: NonNullable<Route['input']>,
): readonly InputFault[] | Promise<readonly InputFault[]> {
  const faults: InputFault[] = [];
  const note = (value: unknown) => {
    request.input = value;
    return faults;
  };
  const value = input({ request, query: objectOf(request.query), body: objectOf(request.body) }, faults);
  return value instanceof Promise ? value.then(note) : note(value);
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Returns what a request may access: what it asks for, within the limits of its token. */
function tenancyOf(
  token: { organization_id: string; workspace_id: string | null },
  asked: { organization_id?: string | undefined; workspace_id?: string | null | undefined },
): Tenancy {
  if (asked.organization_id !== undefined && asked.organization_id !== token.organization_id) {
    throw new Problem('organization_forbidden', 'The token belongs to another organization.');
  }
  const bound = token.workspace_id ?? undefined;
  if (bound !== undefined && asked.workspace_id !== undefined && asked.workspace_id !== bound) {
    throw new Problem('workspace_forbidden', `The token is restricted to the workspace ${bound}.`);
  }
  return { organization_id: token.organization_id, workspace_id: asked.workspace_id ?? bound };
}
