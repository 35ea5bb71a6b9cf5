import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type ProblemCode, problems } from '../domain/problem.js';
import {
  type ApiDocument,
  type Content,
  isOpen,
  type Operation,
  type Schema,
  scopesOf,
  type Tag,
  type TagGroup,
} from './api-document.js';
import { errorsGuide } from './errors-guide.js';
import { FixedText } from './fixed-text.js';
import { schemaExample } from './schema-example.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Codes that this route can return in addition to the usual ones. */
    refusals?: readonly ProblemCode[];
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
  webhooks?: Record<string, unknown>;
  /** The schema of every error response. */
  problemSchema: object;
}

const IdempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
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
      tags: groups.flatMap(({ tags }) => tags),
      ...{ 'x-tagGroups': groups.map(({ name, tags }) => ({ name, tags: tags.map((tag) => tag.name) })) },
      components: {
        securitySchemes: {
          [securityName]: { type: 'http', scheme: 'bearer', description: info.securityDescription },
        },
        schemas: { Problem: info.problemSchema as never },
      },
      security: [{ [securityName]: [] }],
      ...(info.webhooks && { webhooks: info.webhooks as never }),
    },
    transform: ({ schema, url, route }) => {
      const { scopes, idempotent, refusals } = route.config ?? {};
      const described = {
        ...(refusals && { 'x-refusals': refusals }),
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
    document ??= completed(app.swagger() as unknown as ApiDocument);
    return document;
  });
  let text: FixedText | undefined;
  app.get('/openapi.json', { config: { open: true } }, async (request, reply) => {
    text ??= new FixedText('application/json; charset=utf-8', JSON.stringify(app.apiDocument(), null, 2));
    return text.send(request, reply);
  });
}

/** Scalar does not show the scopes of a bearer token, so the description names them. */
function withScopes(description: string | undefined, scopes: readonly string[]): string {
  const required =
    scopes.length === 0
      ? 'Any valid token works, whatever its scopes.'
      : `Required scopes: ${scopes.map((scope) => `\`${scope}\``).join(', ')}.`;
  return description === undefined ? required : `${description}\n\n${required}`;
}

/** Codes that are also returned for paths without an operation. */
const codesOfAnyPath: readonly ProblemCode[] = ['malformed_request', 'not_found', 'method_not_allowed'];

/** Returns the codes that an operation can return. */
function codesFor(method: string, operation: Operation): ProblemCode[] {
  const { 'x-refusals': refusals = [] } = operation as { 'x-refusals'?: readonly ProblemCode[] };
  const codes: ProblemCode[] = ['invalid_parameter', 'internal', 'unavailable', ...refusals];
  if (!isOpen(operation)) codes.push('unauthenticated');
  if (scopesOf(operation).length > 0) codes.push('insufficient_scope', 'rate_limited');
  const parameters = operation.parameters ?? [];
  const has = (name: string) => parameters.some((parameter) => parameter.name === name);
  if (has('cursor')) codes.push('invalid_cursor');
  if (has('organization_id')) codes.push('organization_forbidden', 'workspace_forbidden');
  if (parameters.some((parameter) => parameter.in === 'path')) codes.push('not_found');
  const isIdempotent = has('Idempotency-Key');
  if (isIdempotent) codes.push('idempotency_in_progress', 'idempotency_key_reused');
  if (operation.requestBody || isIdempotent) codes.push('invalid_body');
  // An unexpected body is checked, too.
  if (method !== 'get') codes.push('malformed_json', 'body_too_large', 'unsupported_media_type');
  return codes;
}

/** Adds what all routes have in common: examples, error responses, and the guide to errors. */
function completed(document: ApiDocument): ApiDocument {
  const allCodes = new Set<ProblemCode>(codesOfAnyPath);
  for (const path of Object.values(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(path)) {
      addExample(operation.requestBody?.content);
      const responses = operation.responses ?? {};
      operation.responses = responses;
      for (const [status, response] of Object.entries(responses)) {
        if (response.description === 'Default Response')
          response.description = STATUS_CODES[status] ?? 'Response';
        addExample(response.content);
      }
      const codes = codesFor(method, operation);
      for (const code of codes) allCodes.add(code);
      delete (operation as { 'x-refusals'?: unknown })['x-refusals'];
      for (const status of new Set(codes.map((code) => problems[code].status).sort()))
        responses[status] ??= problemResponse(codes.filter((code) => problems[code].status === status));
    }
  }
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

function addExample(content: Content | undefined): void {
  const media = content?.['application/json'];
  if (media?.schema) media.example ??= schemaExample(media.schema as Schema);
}
