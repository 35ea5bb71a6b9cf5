import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type ProblemCode, problems } from '../values/problem.js';
import {
  type ApiDocument,
  type ApiResponse,
  type Content,
  isOpen,
  type Operation,
  type Schema,
  scopesOf,
  type Tag,
  type TagGroup,
} from '../web/api-document.js';
import { encodedRoute, StaticContent } from '../web/static-content.js';
import { nameComponents, plainSchema } from './components.js';
import { errorsGuide } from './guides.js';
import { addHeaders, type HeaderName, usedHeaders } from './response-headers.js';
import { schemaExample } from './schema-example.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Codes that this route can return in addition to the usual ones. */
    refusals?: readonly ProblemCode[];
    /** Headers that a successful response has in addition to the usual ones. */
    sends?: readonly HeaderName[];
  }
  interface FastifyInstance {
    /** Returns the OpenAPI document of this listener. Call it after all routes are added. */
    apiDocument: () => ApiDocument;
  }
}

export interface DocumentInfo {
  title: string;
  version: string;
  description: string;
  /** Tags without operations, whose descriptions are guides. A guide to errors is added. */
  guides: readonly Tag[];
  securityName: string;
  securityDescription: string;
  tagGroups: readonly TagGroup[];
  /** The address of the API. If not set, it is the address that the document comes from. */
  serverUrl?: string | undefined;
  /** Returns the requests that receivers get, and the schemas of their bodies. Called when the document is first read. */
  webhooks?: () => { requests: Record<string, unknown>; schemas: Record<string, Schema> };
  /** The schema of every error response. */
  problemSchema: object;
}

const IdempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]+$',
      description:
        'Makes it safe to repeat the request. For 24 hours, the same key with the same body returns the first response.',
      examples: ['2f9c1c1e-invoice-hook'],
    }),
  ),
});

/** Builds the OpenAPI 3.1 document from the schemas that validate requests, and serves it at `/openapi.json`. */
export async function installOpenApi(app: FastifyInstance, info: DocumentInfo): Promise<void> {
  const { securityName } = info;
  const groups = [{ name: 'Guides', tags: info.guides }, ...info.tagGroups];
  // An extension that the plugin's types do not cover.
  const tagGroups = {
    'x-tagGroups': groups.map(({ name, tags }) => ({ name, tags: tags.map((tag) => tag.name) })),
  };
  await app.register(swagger, {
    hideUntagged: true,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: info.title,
        version: info.version,
        description: info.description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } as never,
      },
      servers: [{ url: info.serverUrl ?? '/' }],
      tags: groups.flatMap(({ tags }) => tags),
      ...tagGroups,
      components: {
        securitySchemes: {
          [securityName]: { type: 'http', scheme: 'bearer', description: info.securityDescription },
        },
        schemas: { Problem: info.problemSchema as never },
      },
      security: [{ [securityName]: [] }],
    },
    transform: ({ schema, url, route }) => {
      const { scopes, idempotent, refusals, sends, bodyIsOptional } = route.config ?? {};
      const described = {
        'x-refusals': refusals ?? [],
        'x-sends': sends ?? [],
        'x-optional': bodyIsOptional === true,
        ...(scopes && { security: [{ [securityName]: [...scopes] }] }),
        ...(idempotent && { headers: IdempotencyHeaders }),
        ...schema,
        ...(scopes && { description: withScopes(schema?.description, scopes) }),
      };
      return { schema: described, url };
    },
  });

  let document: ApiDocument | undefined;
  app.decorate('apiDocument', () => {
    document ??= completed(app.swagger() as unknown as ApiDocument, info.webhooks);
    return document;
  });
  let text: StaticContent | undefined;
  app.get('/openapi.json', { config: { open: true }, ...encodedRoute }, async (request, reply) => {
    text ??= StaticContent.of('application/json; charset=utf-8', JSON.stringify(app.apiDocument(), null, 2));
    return text.send(request, reply);
  });
}

/** Returns the description with the required scopes, because Scalar does not show the scopes of a bearer token. */
function withScopes(description: string | undefined, scopes: readonly string[]): string {
  const required =
    scopes.length === 0
      ? 'Any valid token works. No scope is required.'
      : `Required ${scopes.length > 1 ? 'scopes' : 'scope'}: ${scopes.map((scope) => `\`${scope}\``).join(', ')}.`;
  return description === undefined ? required : `${description}\n\n${required}`;
}

/** Codes that are also returned for paths without an operation. */
const codesOfAnyPath: readonly ProblemCode[] = ['malformed_request', 'not_found', 'method_not_allowed'];

/** Returns the codes that an operation can return. */
function codesFor(method: string, operation: Operation): ProblemCode[] {
  const codes: ProblemCode[] = [
    'invalid_parameter',
    'internal',
    'unavailable',
    ...notesOf(operation).refusals,
  ];
  // Both listeners limit wrong tokens by address.
  if (!isOpen(operation)) codes.push('unauthenticated', 'rate_limited');
  if (!isOpen(operation) && !operation.tags?.includes('Monitoring')) codes.push('wrong_cell');
  const hasScopes = scopesOf(operation).length > 0;
  if (hasScopes) codes.push('insufficient_scope');
  const parameters = operation.parameters ?? [];
  const has = (name: string) => parameters.some((parameter) => parameter.name === name);
  if (has('cursor')) codes.push('invalid_cursor');
  if (hasScopes && has('organization_id')) codes.push('organization_forbidden', 'workspace_forbidden');
  if (parameters.some((parameter) => parameter.in === 'path')) codes.push('not_found');
  const isIdempotent = has('Idempotency-Key');
  if (isIdempotent) codes.push('idempotency_in_progress', 'idempotency_key_reused');
  if (operation.requestBody || isIdempotent) codes.push('invalid_body');
  // An unexpected body is also checked.
  if (method !== 'get') codes.push('malformed_json', 'body_too_large', 'unsupported_media_type');
  return codes;
}

/**
 * What a route declares in addition to its schema. Carried as `x-*` fields until the document is complete.
 */
interface RouteNotes {
  refusals: readonly ProblemCode[];
  sends: readonly HeaderName[];
  optional: boolean;
}

function notesOf(operation: Operation): RouteNotes {
  const notes = operation as Record<string, unknown>;
  return {
    refusals: notes['x-refusals'] as RouteNotes['refusals'],
    sends: notes['x-sends'] as RouteNotes['sends'],
    optional: notes['x-optional'] as boolean,
  };
}

function removeNotes(operation: Operation): void {
  const notes = operation as Record<string, unknown>;
  for (const name of ['x-refusals', 'x-sends', 'x-optional']) delete notes[name];
}

/** Adds what all routes have in common: examples, error responses, headers, component names, the guide to errors. */
function completed(document: ApiDocument, webhooksOf: DocumentInfo['webhooks']): ApiDocument {
  const allCodes = new Set<ProblemCode>(codesOfAnyPath);
  const all: ApiResponse[] = [];
  for (const path of Object.values(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(path)) {
      const { sends, optional } = notesOf(operation);
      if (operation.requestBody && optional) operation.requestBody.required = false;
      if (operation.requestBody) operation.requestBody.content = withExample(operation.requestBody.content);
      for (const parameter of operation.parameters ?? [])
        if (parameter.schema) parameter.schema = plainSchema(parameter.schema);
      const responses = operation.responses ?? {};
      operation.responses = responses;
      for (const [status, response] of Object.entries(responses)) {
        if (response.description === 'Default Response')
          response.description = STATUS_CODES[status] ?? 'Response';
        if (response.content) response.content = withExample(response.content);
      }
      const codes = codesFor(method, operation);
      for (const code of codes) allCodes.add(code);
      for (const status of new Set(codes.map((code) => problems[code].status).sort()))
        responses[status] ??= problemResponse(codes.filter((code) => problems[code].status === status));
      for (const [status, response] of Object.entries(responses))
        addHeaders(response, Number(status), operation, sends);
      all.push(...Object.values(responses));
      removeNotes(operation);
    }
  }
  nameComponents(document);
  const webhooks = webhooksOf?.();
  if (webhooks) {
    document.webhooks = webhooks.requests;
    Object.assign(document.components.schemas, webhooks.schemas);
  }
  document.components.headers = usedHeaders(all);
  addGuide(document, errorsGuide(allCodes));
  return document;
}

function addGuide(document: ApiDocument, guide: Tag): void {
  document.tags.push(guide);
  document['x-tagGroups'][0]?.tags.push(guide.name);
}

function problemResponse(codes: readonly ProblemCode[]) {
  return {
    description: codes.map((code) => `\`${code}\`: ${problems[code].title}.`).join(' '),
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

/** Returns the content with an example, and with its schema in the plain form. */
function withExample(content: Content | undefined): Content {
  const entries = Object.entries(content ?? {}).map(([type, { schema = {}, example }]) => {
    const shown = example ?? schemaExample(schema);
    // Generators treat NDJSON as text.
    if (type === 'application/x-ndjson')
      return [type, { schema: { type: 'string' }, example: `${JSON.stringify(shown)}\n` }];
    const isJson = type === 'application/json';
    return [type, { schema: plainSchema(schema), ...(isJson && { example: shown }) }];
  });
  return Object.fromEntries(entries);
}
