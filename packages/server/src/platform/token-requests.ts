import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { parseDurationMs } from '../domain/duration.js';
import { identifierPattern, kindPattern } from '../domain/identifier.js';
import type { InputFault } from '../domain/problem.js';
import { defaultScopes, scopes } from '../domain/token.js';

const shared = {
  organization_id: Type.String({
    pattern: identifierPattern.organization,
    description: 'The organization of the token.',
    examples: ['ORG-demo'],
  }),
  workspace_id: Type.Optional(
    Type.Union([Type.String({ pattern: identifierPattern.workspace }), Type.Null()], {
      description: 'Restricts the token to this workspace.',
      examples: ['WS-berlin'],
    }),
  ),
  actor: Type.Optional(
    Type.Object(
      {
        type: Type.String({ pattern: kindPattern, description: 'Type.', examples: ['user'] }),
        id: Type.String({ pattern: identifierPattern.resource, description: 'ID.', examples: ['USR-ada'] }),
      },
      {
        additionalProperties: false,
        description:
          'Who is responsible for what the token does, in the audit log. Default: the token itself.',
      },
    ),
  ),
} as const;

export const TokenRequest = Type.Object(
  {
    ...shared,
    scopes: Type.Optional(
      Type.Array(Type.Enum([...scopes]), {
        minItems: 1,
        description: `What the token may do. Default: ${defaultScopes.map((scope) => `\`${scope}\``).join(', ')}.`,
        examples: [['events:read', 'webhooks:read']],
      }),
    ),
    expires: Type.Optional(
      Type.String({
        default: '365d',
        description: 'Lifetime of the token: a duration, at most `36500d`.',
        examples: ['90d'],
      }),
    ),
  },
  { additionalProperties: false },
);

export const SessionRequest = Type.Object(
  {
    ...shared,
    read_only: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether to leave out the scope `webhooks:write`, so that the session cannot change anything.',
        examples: [false],
      }),
    ),
    expires: Type.Optional(
      Type.String({
        default: '1h',
        description: 'Lifetime of the session: a duration, at most `24h`.',
        examples: ['1h'],
      }),
    ),
  },
  { additionalProperties: false },
);

/** Returns a check of the field `expires`: a duration of at least a millisecond and at most `msMax`. */
export function expiresCheck(msMax: number, maxText: string) {
  return (request: FastifyRequest): readonly InputFault[] => {
    const expires = (request.body as { expires?: unknown } | undefined)?.expires;
    if (typeof expires !== 'string') return [];
    const ms = parseDurationMs(expires);
    if (ms !== undefined && ms > 0 && ms <= msMax) return [];
    const detail = `must be a duration such as 30m or 12h, at most ${maxText}`;
    return [{ pointer: '/expires', code: 'invalid_duration', detail }];
  };
}
