import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { durationPattern, parseDurationMs } from '../values/duration.js';
import { identifierPattern } from '../values/identifier.js';
import type { InputFault } from '../values/problem.js';
import { ReferenceInput } from '../web/event-schema.js';
import { defaultScopes, scopes } from './token.js';

const shared = {
  organization_id: Type.String({
    pattern: identifierPattern.organization,
    description: 'The organization that the token belongs to.',
    examples: ['ORG-demo'],
  }),
  workspace_id: Type.Optional(
    Type.Union([Type.String({ pattern: identifierPattern.workspace }), Type.Null()], {
      description: 'Restricts the token to this workspace.',
      examples: ['WS-berlin'],
    }),
  ),
  actor: Type.Optional(
    ReferenceInput(
      'The actor that the audit log shows for actions with this token. Default: the token itself.',
      {
        type: 'user',
        id: 'USR-ada',
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
        'x-documented': { pattern: durationPattern },
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
          'Whether to omit the `webhooks:write` scope, so that the session cannot change anything.',
        examples: [false],
      }),
    ),
    expires: Type.Optional(
      Type.String({
        default: '1h',
        'x-documented': { pattern: durationPattern },
        description: 'Lifetime of the session: a duration, at most `24h`.',
        examples: ['1h'],
      }),
    ),
  },
  { additionalProperties: false },
);

/** Returns a check of the `expires` field: a duration of at least a millisecond and at most `msMax`. */
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
