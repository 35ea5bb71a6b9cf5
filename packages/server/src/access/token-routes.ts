import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import type { AuditOrigin } from '../audit/audit.js';
import { refuseElsewhere } from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { pageOf } from '../postgres/keyset.js';
import { identifierPattern } from '../values/pattern.js';
import { type InputFault, Problem } from '../values/problem.js';
import { parseDurationMs } from '../values/time.js';
import { list, pageBody, pageSchema } from '../web/lists.js';
import { type Arrived, type Route, route } from '../web/route.js';
import * as schemas from '../web/schemas.js';
import * as tokens from './token.js';
import { createToken, listTokenPage, revokeToken } from './token-store.js';

/** The fields of a token that both listeners show. The token itself is not one of them. */
const tokenFields = {
  id: schemas.text('Token ID.', 'TOK-01KA3Z8M5Q2V7X4C9E1G6J8N0R'),
  organization_id: schemas.text('The organization that the token belongs to.', 'ORG-demo'),
  workspace_id: schemas.textOrNull(
    'The only workspace that the token can access. Null means the whole organization.',
    'WS-berlin',
  ),
  scopes: Type.Array(Type.Enum([...tokens.scopes]), {
    description: 'What the token may do.',
    examples: [['events:read', 'webhooks:read']],
  }),
  actor: schemas.ReferenceSchema('The actor that the audit log shows for actions with this token.', {
    type: 'user',
    id: 'USR-ada',
  }),
  created_at: schemas.time('Time when the token was created.', '2026-11-15T09:30:00.000Z'),
  expires_at: schemas.time('Time when the token expires.', '2027-11-15T09:30:00.000Z'),
  portal: schemas.flag('Whether the token is a portal session.', false),
};

const organization_name = schemas.textOrNull(
  'Display name of the organization, if it has one.',
  'Rhein Logistics',
);
const OwnToken = schemas.namedData('Token', { ...tokenFields, organization_name });

const { created_at: _, portal: __, ...issuedFields } = tokenFields;
const tokenExample = 'pht_x1Vv5cZyJ0d0mYb2vEJkqk4Wn8oTq3uQx7Lr9sHf2Ag';

const IssuedToken = schemas.namedData('IssuedToken', {
  ...issuedFields,
  token: schemas.text('The token. It is not shown again: only its hash is stored.', tokenExample),
});

const ListedToken = schemas.named('ListedToken', {
  ...tokenFields,
  revoked_at: schemas.timeOrNull('Time when the token was revoked. Null if it is not revoked.', null),
  last_used_at: schemas.timeOrNull(
    'Time when the token was last used, accurate to within 10 seconds. Null if it was never used.',
    null,
  ),
});

const PortalSession = schemas.namedData('PortalSession', {
  url: Type.String({
    format: 'uri',
    description:
      'Link to the console, with the token in the fragment. Open it for your customer, or show it in a frame.',
    examples: [`https://hooks.example.com/console#token=${tokenExample}`],
  }),
  token: schemas.text("The session's token. It is not shown again: only its hash is stored.", tokenExample),
  expires_at: schemas.time('When the session ends.', '2026-11-15T10:30:00.000Z'),
});

const requestFields = {
  organization_id: Type.String({
    pattern: identifierPattern.organization,
    description: 'The organization that the token belongs to.',
    examples: ['ORG-demo'],
  }),
  ...schemas.optional({
    workspace_id: schemas.orNull(
      Type.String({
        pattern: identifierPattern.workspace,
        description: 'Restricts the token to this workspace.',
        examples: ['WS-berlin'],
      }),
    ),
    actor: schemas.ReferenceInput(
      'The actor that the audit log shows for actions with this token. Default: the token itself.',
      { type: 'user', id: 'USR-ada' },
    ),
  }),
} as const;

const TokenRequest = schemas.closed({
  ...requestFields,
  ...schemas.optional({
    scopes: Type.Array(Type.Enum([...tokens.scopes]), {
      minItems: 1,
      description: `What the token may do. Default: ${tokens.defaultScopes.map((scope) => `\`${scope}\``).join(', ')}.`,
      examples: [['events:read', 'webhooks:read']],
    }),
    expires: schemas.duration('365d', 'Lifetime of the token: a duration, at most `36500d`.', '90d'),
  }),
});

const SessionRequest = schemas.closed({
  ...requestFields,
  ...schemas.optional({
    read_only: Type.Boolean({
      default: false,
      description: 'Whether to omit the `webhooks:write` scope, so that the session cannot change anything.',
      examples: [false],
    }),
    expires: schemas.duration('1h', 'Lifetime of the session: a duration, at most `24h`.', '1h'),
  }),
});

/** Returns `GET /v1/token`, which describes the request's token. */
export function ownTokenRoute(): Route {
  return route('GET /v1/token', {
    operationId: 'getToken',
    summary: 'Get token details',
    description:
      'Returns the organization, scopes and expiry of the token that you send. The token itself is not returned.',
    scopes: [],
    withoutDatabase: true,
    returns: { 200: OwnToken },
    handler: async ({ token }, reply) => {
      const { revoked_at: _, last_used_at: __, organization_name = null, ...shown } = token;
      reply.header('Cache-Control', 'no-store');
      return { data: { ...shown, organization_name } };
    },
  });
}

export interface TokenContext {
  database: Database;
  now: () => number;
  /** The name of this cell, if it has one. Tokens contain it. */
  cell: string | undefined;
  /** Returns the link to the console that signs in with this token. */
  consoleLink: (token: string) => string;
}

/** Returns the routes that create, list and revoke access tokens of the public API, and create portal sessions. */
export function tokenRoutes({ database, now, cell, consoleLink }: TokenContext): readonly Route[] {
  return [
    route('POST /platform/tokens', {
      operationId: 'createToken',
      summary: 'Create an access token',
      description:
        'Creates a token for the public API. Only this response contains the token. Writes the audit log entry ' +
        '`token.created`.',
      body: TokenRequest,
      input: (arrived, faults) =>
        readLifetime(arrived, faults, tokens.lifetimeMsMax, '36500d') ?? tokens.defaultLifetimeMs,
      returns: { 201: IssuedToken },
      handler: async (request, reply) => {
        const asked = new Set(request.body.scopes ?? tokens.defaultScopes);
        const { text, token } = await issue(request, request.body, {
          scopes: [...asked],
          lifetimeMs: request.input,
          portal: false,
        });
        const { id, organization_id, workspace_id, scopes: granted, actor, expires_at } = token;
        reply.header('Cache-Control', 'no-store');
        return {
          data: { id, token: text, organization_id, workspace_id, scopes: granted, actor, expires_at },
        };
      },
    }),
    route('GET /platform/tokens', {
      operationId: 'listTokens',
      summary: 'List access tokens',
      description:
        'Returns the tokens of an organization, newest first, including expired and revoked ones. Portal sessions ' +
        'are also tokens. They are deleted one day after they expire.',
      ...list({
        name: 'tokens',
        filters: {
          organization_id: Type.String({
            minLength: 1,
            description: 'Organization ID. Return only tokens of this organization.',
            examples: ['ORG-demo'],
          }),
        },
        limit: 100,
      }),
      returns: { 200: pageSchema(ListedToken) },
      handler: async ({ query: { organization_id }, input }) => {
        await refuseElsewhere(database, organization_id);
        const rows = await listTokenPage(database, organization_id, input.after?.id, input.limit + 1);
        return pageBody(pageOf(rows, input.limit), input, listedBody);
      },
    }),
    route('DELETE /platform/tokens/{id}', {
      operationId: 'revokeToken',
      summary: 'Revoke an access token',
      description:
        'Every node rejects the token within 2 seconds. Returns 404 if the token is already revoked. Writes the audit ' +
        'log entry `token.revoked`.',
      returns: { 204: Type.Null({ description: 'The token is revoked.' }) },
      handler: async (request) => {
        const at = new Date(now());
        const revoked = await revokeToken(database, request.params.id, at, originOf(request));
        if (!revoked?.isRevokedNow)
          throw new Problem('not_found', 'The token does not exist, or it is already revoked.');
      },
    }),
    route('POST /platform/portal-sessions', {
      operationId: 'createPortalSession',
      summary: 'Create a portal session',
      description:
        'Returns a link that opens the console for one organization or workspace. The session has all scopes or, ' +
        'with `read_only`, all scopes except `webhooks:write`. It is an access token: to end it early, revoke it ' +
        'like any other token. Writes the audit log entry `portal_session.created`.',
      body: SessionRequest,
      input: (arrived, faults) =>
        readLifetime(arrived, faults, tokens.sessionLifetimeMsMax, '24h') ?? tokens.sessionLifetimeMs,
      returns: { 201: PortalSession },
      handler: async (request, reply) => {
        const { read_only } = request.body;
        const { text, token } = await issue(request, request.body, {
          scopes: tokens.scopes.filter((scope) => !read_only || scope !== 'webhooks:write'),
          lifetimeMs: request.input,
          portal: true,
        });
        reply.header('Cache-Control', 'no-store');
        return { data: { url: consoleLink(text), token: text, expires_at: token.expires_at } };
      },
    }),
  ];

  async function issue(
    request: FastifyRequest,
    { organization_id, workspace_id = null, actor }: Owner,
    granted: Pick<Parameters<typeof tokens.newToken>[0], 'scopes' | 'lifetimeMs' | 'portal'>,
  ): Promise<{ text: string; token: tokens.Token }> {
    const text = tokens.newTokenText(cell);
    const token = tokens.newToken({ organization_id, workspace_id, actor, ...granted }, now());
    await createToken(database, token, text, originOf(request));
    return { text, token };
  }
}

type Owner = Pick<Static<typeof TokenRequest>, 'organization_id' | 'workspace_id' | 'actor'>;

/** Reads `expires`: a duration of at least a millisecond and at most `msMax`. */
function readLifetime(
  { body: { expires } }: Arrived,
  faults: InputFault[],
  msMax: number,
  maxText: string,
): number | undefined {
  if (typeof expires !== 'string') return undefined;
  const ms = parseDurationMs(expires);
  if (ms !== undefined && ms > 0 && ms <= msMax) return ms;
  const detail = `must be a duration such as 30m or 12h, at most ${maxText}`;
  faults.push({ pointer: '/expires', code: 'invalid_duration', detail });
  return undefined;
}

/** The actor for all requests with the platform token, because the platform listener has no users. */
const platformActor = { type: 'platform', id: 'platform' };

/** Returns the origin that the audit log records for a request to the platform listener. */
export function originOf({ id, sourceAddress }: FastifyRequest): AuditOrigin {
  return { actor: platformActor, request_id: id, source_address: sourceAddress };
}

function listedBody(token: tokens.Token) {
  const { id, organization_id, workspace_id, scopes, actor, ...rest } = token;
  const { created_at, expires_at, revoked_at, last_used_at, portal } = rest;
  const times = { created_at, expires_at, revoked_at, last_used_at };
  return { id, organization_id, workspace_id, scopes, actor, ...times, portal };
}
