import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { parseDurationMs } from '../values/duration.js';
import { createToken } from './audited-tokens.js';
import {
  newToken,
  newTokenText,
  scopes,
  sessionLifetimeMs,
  sessionLifetimeMsMax,
  tokenHash,
} from './token.js';
import { expiresCheck, SessionRequest } from './token-requests.js';
import { originOf, type TokenRouteOptions } from './token-routes.js';

export interface PortalOptions extends TokenRouteOptions {
  /** Returns the link to the console that signs in with this token. */
  consoleLink: (token: string) => string;
}

const SessionSchema = Type.Object(
  {
    url: Type.String({
      format: 'uri',
      description:
        'Link to the console, with the token in the fragment. Open it for your customer, or show it in a frame.',
      examples: ['https://hooks.example.com/console#token=pht_x1Vv5cZyJ0d0mYb2vEJkqk4Wn8oTq3uQx7Lr9sHf2Ag'],
    }),
    token: Type.String({
      description: "The session's token. It is not shown again: only its hash is stored.",
      examples: ['pht_x1Vv5cZyJ0d0mYb2vEJkqk4Wn8oTq3uQx7Lr9sHf2Ag'],
    }),
    expires_at: Type.String({
      format: 'date-time',
      description: 'When the session ends.',
      examples: ['2026-11-15T10:30:00.000Z'],
    }),
  },
  { title: 'PortalSession' },
);

/** Adds `POST /platform/portal-sessions`, which returns a short-lived link to the console of one organization. */
export function portalSessionRoute(
  app: FastifyInstance,
  { database, now, cell, consoleLink }: PortalOptions,
): void {
  app.post<{ Body: Static<typeof SessionRequest> }>(
    '/platform/portal-sessions',
    {
      config: { check: expiresCheck(sessionLifetimeMsMax, '24h') },
      schema: {
        operationId: 'createPortalSession',
        tags: ['Tokens'],
        summary: 'Create a portal session',
        description:
          'Returns a link that opens the console for one organization or workspace. The session has all scopes or, ' +
          'with `read_only`, all scopes except `webhooks:write`. It is an access token: to end it early, revoke it ' +
          'like any other token. Writes the audit log entry `portal_session.created`.',
        body: SessionRequest,
        response: { 201: Type.Object({ data: SessionSchema }) },
      },
    },
    async (request, reply) => {
      const { organization_id, workspace_id = null, actor, read_only, expires } = request.body;
      const text = newTokenText(cell);
      const token = newToken(
        {
          organization_id,
          workspace_id,
          actor,
          portal: true,
          scopes: scopes.filter((scope) => !read_only || scope !== 'webhooks:write'),
          lifetimeMs: expires === undefined ? sessionLifetimeMs : (parseDurationMs(expires) ?? 0),
        },
        now(),
      );
      await createToken(database, token, tokenHash(text), originOf(request));
      reply.status(201).header('Cache-Control', 'no-store');
      return { data: { url: consoleLink(text), token: text, expires_at: token.expires_at } };
    },
  );
}
