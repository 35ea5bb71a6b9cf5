import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type ProblemCode, problems } from '../domain/problem.js';
import {
  type ApiDocument,
  isOpen,
  type MediaType,
  type Operation,
  scopesOf,
  type Tag,
  type TagGroup,
} from './api-document.js';
import { FixedText } from './fixed-text.js';
import type { ProblemTable } from './reference-problems.js';
import { exampleOf } from './reference-schema.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What this route can answer beyond what every route of its kind can. */
    refusals?: readonly ProblemCode[];
  }
  interface FastifyInstance {
    /** The OpenAPI document of this listener; known once all routes are. */
    apiDocument: () => ApiDocument;
    /** The problems that this listener can answer with. */
    apiProblems: () => ProblemTable;
  }
}

export interface DocumentInfo {
  title: string;
  version: string;
  description: string;
  securityName: string;
  securityDescription: string;
  /** The variable that stands for the token in examples. */
  tokenVariable: string;
  tags: readonly Tag[];
  tagGroups?: readonly TagGroup[];
  webhooks?: Record<string, unknown>;
  /** The schema that every error response has. */
  problemSchema: object;
}

const IdempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The same request with the same key is answered as the first time, for 24 h.',
      examples: ['2f9c1c1e-invoice-hook'],
    }),
  ),
});

/** Makes the OpenAPI 3.1 document from the schemas that validate, and serves it at `/openapi.json`. */
export async function installOpenApi(app: FastifyInstance, info: DocumentInfo): Promise<void> {
  const { securityName } = info;
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
      tags: [...info.tags] as never,
      ...(info.tagGroups && { 'x-tagGroups': info.tagGroups }),
      components: {
        securitySchemes: {
          [securityName]: {
            ...{ type: 'http', scheme: 'bearer', description: info.securityDescription },
            ...({ 'x-variable': info.tokenVariable } as object),
          },
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
      };
      return { schema: described, url };
    },
  });

  const codes = new Set<ProblemCode>(codesOfAnyPath);
  let document: ApiDocument | undefined;
  app.decorate('apiDocument', () => {
    document ??= completed(app.swagger() as unknown as ApiDocument, codes);
    return document;
  });
  app.decorate('apiProblems', () => {
    app.apiDocument();
    return Object.fromEntries(Object.entries(problems).filter(([code]) => codes.has(code as ProblemCode)));
  });
  let text: FixedText | undefined;
  app.get('/openapi.json', { config: { open: true } }, async (request, reply) => {
    text ??= new FixedText('application/json; charset=utf-8', JSON.stringify(app.apiDocument(), null, 2));
    return text.send(request, reply);
  });
}

/** What is answered also where there is no operation. */
const codesOfAnyPath: readonly ProblemCode[] = ['malformed_request', 'not_found', 'method_not_allowed'];

/** Which codes an operation can answer with, beyond those every operation can. */
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
  // Also where none is asked for: whoever sends one is told what is wrong with it.
  if (method !== 'get') codes.push('malformed_json', 'body_too_large', 'unsupported_media_type');
  return codes;
}

/** Adds the error responses, which are the same everywhere, so that no route has to repeat them; gathers their codes. */
function completed(document: ApiDocument, gathered: Set<ProblemCode>): ApiDocument {
  for (const path of Object.values(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(path)) {
      addExample(document, operation.requestBody?.content);
      const responses = operation.responses ?? {};
      operation.responses = responses;
      for (const [status, response] of Object.entries(responses)) {
        if (response.description === 'Default Response')
          response.description = STATUS_CODES[status] ?? 'The answer';
        addExample(document, response.content);
      }
      const codesOfOperation = codesFor(method, operation);
      for (const code of codesOfOperation) gathered.add(code);
      delete (operation as { 'x-refusals'?: unknown })['x-refusals'];
      for (const status of new Set(codesOfOperation.map((code) => problems[code].status).sort())) {
        const codes = codesOfOperation.filter((code) => problems[code].status === status);
        responses[status] ??= {
          description: codes.map((code) => `\`${code}\`: ${problems[code].title}.`).join(' '),
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        };
      }
    }
  }
  return document;
}

function addExample(document: ApiDocument, content: Record<string, MediaType> | undefined): void {
  const media = content?.['application/json'];
  if (media?.schema && media.examples === undefined) media.example ??= exampleOf(document, media);
}
