import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { TokenFields } from './token-schema.js';

const TokenSchema = Type.Object(TokenFields, { title: 'Token' });

/** Adds `GET /v1/token`, which describes the request's token. */
export function tokenRoute(app: FastifyInstance): void {
  app.get(
    '/v1/token',
    {
      config: { scopes: [], withoutDatabase: true },
      schema: {
        operationId: 'getToken',
        tags: ['Token'],
        summary: 'Get token details',
        description:
          'Returns the organization, scopes and expiry of the token that you send. The token itself is not returned.',
        response: { 200: Type.Object({ data: TokenSchema }) },
      },
    },
    async (request, reply) => {
      const { id, organization_id, workspace_id, scopes, actor, created_at, expires_at, portal } =
        request.token;
      reply.header('Cache-Control', 'no-store');
      return { data: { id, organization_id, workspace_id, scopes, actor, created_at, expires_at, portal } };
    },
  );
}
