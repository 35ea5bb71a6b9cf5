import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { problems } from '../domain/problem.js';

export interface DocumentInfo {
  title: string;
  version: string;
  description: string;
  securityName: string;
  securityDescription: string;
  tags: readonly { name: string; description: string }[];
  webhooks?: Record<string, unknown>;
  /** The schema that every error response has. */
  problemSchema: object;
}

type Operation = { responses?: Record<string, unknown>; security?: unknown[] } & Record<string, unknown>;
interface Document {
  paths?: Record<string, Record<string, Operation>>;
  components?: Record<string, unknown>;
}

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
      tags: [...info.tags],
      components: {
        securitySchemes: {
          [securityName]: { type: 'http', scheme: 'bearer', description: info.securityDescription },
        },
        schemas: { Problem: info.problemSchema as never },
      },
      security: [{ [securityName]: [] }],
      ...(info.webhooks && { webhooks: info.webhooks as never }),
    },
  });

  let text: string | undefined;
  app.get('/openapi.json', async (_request, reply) => {
    text ??= JSON.stringify(withErrors(app.swagger() as unknown as Document), null, 2);
    return reply.type('application/json; charset=utf-8').header('Cache-Control', 'no-cache').send(text);
  });
}

/** Which codes an operation can answer with, beyond those every operation can. */
function codesFor(operation: Operation): (keyof typeof problems)[] {
  const open = operation.security?.length === 0;
  const codes: (keyof typeof problems)[] = ['invalid_parameter', 'internal', 'unavailable'];
  if (!open) codes.push('unauthenticated', 'insufficient_scope', 'rate_limited');
  if (Array.isArray(operation.parameters)) {
    const names = (operation.parameters as { name: string; in: string }[]).map(({ name }) => name);
    if (names.includes('cursor')) codes.push('invalid_cursor');
    if (names.includes('organization_id')) codes.push('organization_forbidden', 'workspace_forbidden');
    if ((operation.parameters as { in: string }[]).some((parameter) => parameter.in === 'path'))
      codes.push('not_found');
  }
  if (operation.requestBody)
    codes.push('malformed_json', 'body_too_large', 'unsupported_media_type', 'invalid_body');
  return codes;
}

/** Adds the error responses, which are the same everywhere, so that no route has to repeat them. */
function withErrors(document: Document): Document {
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(path)) {
      const codesOfOperation = codesFor(operation);
      operation.responses ??= {};
      for (const status of new Set(codesOfOperation.map((code) => problems[code].status).sort())) {
        const codes = codesOfOperation.filter((code) => problems[code].status === status);
        operation.responses[status] ??= {
          description: codes.map((code) => `\`${code}\`: ${problems[code].title}.`).join(' '),
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        };
      }
    }
  }
  return document;
}
