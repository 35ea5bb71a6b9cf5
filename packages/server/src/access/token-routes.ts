import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import type { AuditOrigin } from '../audit/audit.js';
import { refuseElsewhere } from '../cells/elsewhere.js';
import type { Database } from '../postgres/database.js';
import { bindingOf, encodeCursor } from '../values/cursor.js';
import { parseDurationMs } from '../values/duration.js';
import { Problem } from '../values/problem.js';
import { cursorFaults, cursorParameter, limitParameter, PageMeta, positionOf } from '../web/paging.js';
import { createToken, revokeToken } from './audited-tokens.js';
import {
  defaultLifetimeMs,
  defaultScopes,
  lifetimeMsMax,
  newToken,
  newTokenText,
  type Token,
  tokenHash,
} from './token.js';
import { expiresCheck, TokenRequest } from './token-requests.js';
import { TokenFields } from './token-schema.js';
import { listTokenPage } from './token-store.js';

const { created_at: _, portal: __, ...issuedFields } = TokenFields;

const IssuedTokenSchema = Type.Object(
  {
    ...issuedFields,
    token: Type.String({
      description: 'The token. It is not shown again: only its hash is stored.',
      examples: ['pht_x1Vv5cZyJ0d0mYb2vEJkqk4Wn8oTq3uQx7Lr9sHf2Ag'],
    }),
  },
  { title: 'IssuedToken' },
);

const optionalTime = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description, examples: [null] });

const ListedTokenSchema = Type.Object(
  {
    ...TokenFields,
    revoked_at: optionalTime('Time when the token was revoked. Null if it is not revoked.'),
    last_used_at: optionalTime(
      'Time when the token was last used, accurate to within 10 seconds. Null if it was never used.',
    ),
  },
  { title: 'ListedToken' },
);

const ListQuery = Type.Object(
  {
    organization_id: Type.String({
      minLength: 1,
      description: 'Organization ID. Return only tokens of this organization.',
      examples: ['ORG-demo'],
    }),
    cursor: cursorParameter,
    limit: limitParameter(100),
  },
  { additionalProperties: false },
);
type ListQuery = Static<typeof ListQuery>;

/** The actor for all requests with the platform token, because the platform listener has no users. */
const platformActor = { type: 'platform', id: 'platform' };

/** Returns the origin that the audit log records for a token that a request creates or revokes. */
export function originOf({ id, sourceAddress }: FastifyRequest): AuditOrigin {
  return { actor: platformActor, request_id: id, source_address: sourceAddress };
}

export interface TokenRouteOptions {
  database: Database;
  now: () => number;
  /** The name of this cell, if it has one. Tokens contain it. */
  cell: string | undefined;
}

/** Adds the routes that create, list and revoke access tokens of the public API. */
export function tokenRoutes(app: FastifyInstance, { database, now, cell }: TokenRouteOptions): void {
  creationRoute(app, { database, now, cell });
  listRoute(app, database);
  revocationRoute(app, database, now);
}

function creationRoute(app: FastifyInstance, { database, now, cell }: TokenRouteOptions): void {
  app.post<{ Body: Static<typeof TokenRequest> }>(
    '/platform/tokens',
    {
      config: { check: expiresCheck(lifetimeMsMax, '36500d') },
      schema: {
        operationId: 'createToken',
        tags: ['Tokens'],
        summary: 'Create an access token',
        description:
          'Creates a token for the public API. Only this response contains the token. Writes the audit log entry ' +
          '`token.created`.',
        body: TokenRequest,
        response: { 201: Type.Object({ data: IssuedTokenSchema }) },
      },
    },
    async (request, reply) => {
      const { organization_id, workspace_id = null, actor, expires } = request.body;
      const text = newTokenText(cell);
      const token = newToken(
        {
          organization_id,
          workspace_id,
          actor,
          portal: false,
          scopes: [...new Set(request.body.scopes ?? defaultScopes)],
          lifetimeMs: expires === undefined ? defaultLifetimeMs : (parseDurationMs(expires) ?? 0),
        },
        now(),
      );
      await createToken(database, token, tokenHash(text), originOf(request));
      const { id, scopes, actor: named, expires_at } = token;
      reply.status(201).header('Cache-Control', 'no-store');
      return {
        data: { id, token: text, organization_id, workspace_id, scopes, actor: named, expires_at },
      };
    },
  );
}

function listRoute(app: FastifyInstance, database: Database): void {
  const bindingFor = ({ organization_id }: ListQuery) => bindingOf('tokens', { organization_id });
  app.get<{ Querystring: ListQuery }>(
    '/platform/tokens',
    {
      config: {
        check: ({ query }) => cursorFaults((query as ListQuery).cursor, () => bindingFor(query as ListQuery)),
      },
      schema: {
        operationId: 'listTokens',
        tags: ['Tokens'],
        summary: 'List access tokens',
        description:
          'Returns the tokens of an organization, newest first, including expired and revoked ones. Portal sessions ' +
          'are also tokens. They are deleted one day after they expire.',
        querystring: ListQuery,
        response: { 200: Type.Object({ data: Type.Array(ListedTokenSchema), meta: PageMeta }) },
      },
    },
    async ({ query }) => {
      await refuseElsewhere(database, query.organization_id);
      const binding = bindingFor(query);
      const limit = query.limit ?? 100;
      const after = positionOf(query.cursor, binding)?.id;
      const rows = await listTokenPage(database, query.organization_id, after, limit + 1);
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const cursor = last ? encodeCursor({ atMs: last.created_at.getTime(), id: last.id }, binding) : null;
      return { data: page.map(listedBody), meta: { cursor, has_more: rows.length > limit } };
    },
  );
}

function listedBody(token: Token) {
  const { id, organization_id, workspace_id, scopes, actor, ...rest } = token;
  const { created_at, expires_at, revoked_at, last_used_at, portal } = rest;
  return {
    id,
    organization_id,
    workspace_id,
    scopes,
    actor,
    created_at,
    expires_at,
    revoked_at,
    last_used_at,
    portal,
  };
}

function revocationRoute(app: FastifyInstance, database: Database, now: () => number): void {
  app.delete<{ Params: { id: string } }>(
    '/platform/tokens/:id',
    {
      schema: {
        operationId: 'revokeToken',
        tags: ['Tokens'],
        summary: 'Revoke an access token',
        description:
          'Every node rejects the token within 2 seconds. Returns 404 if the token is already revoked. Writes the audit ' +
          'log entry `token.revoked`.',
        params: Type.Object({
          id: Type.String({ description: 'Token ID.', examples: ['TOK-01KA3Z8M5Q2V7X4C9E1G6J8N0R'] }),
        }),
        response: { 204: Type.Null({ description: 'The token is revoked.' }) },
      },
    },
    async (request, reply) => {
      const at = new Date(now());
      const revoked = await revokeToken(database, request.params.id, at, originOf(request));
      if (!revoked?.isRevokedNow) {
        throw new Problem('not_found', 'The token does not exist, or it is already revoked.');
      }
      return reply.status(204).send();
    },
  );
}
