import Type from 'typebox';
import { durationPattern } from '../values/duration.js';
import { identifierPattern } from '../values/identifier.js';
import { dataOf, flag, orNull, ReferenceInput, ReferenceSchema, text, time } from '../web/schemas.js';
import { defaultScopes, scopes } from './token.js';

/** The fields of a token that both listeners show. The token itself is not one of them. */
const tokenFields = {
  id: text('Token ID.', 'TOK-01KA3Z8M5Q2V7X4C9E1G6J8N0R'),
  organization_id: text('The organization that the token belongs to.', 'ORG-demo'),
  workspace_id: orNull(
    text('The only workspace that the token can access. Null means the whole organization.', 'WS-berlin'),
  ),
  scopes: Type.Array(Type.Enum([...scopes]), {
    description: 'What the token may do.',
    examples: [['events:read', 'webhooks:read']],
  }),
  actor: ReferenceSchema('The actor that the audit log shows for actions with this token.', {
    type: 'user',
    id: 'USR-ada',
  }),
  created_at: time('Time when the token was created.', '2026-11-15T09:30:00.000Z'),
  expires_at: time('Time when the token expires.', '2027-11-15T09:30:00.000Z'),
  portal: flag('Whether the token is a portal session.', false),
};

export const OwnToken = dataOf(Type.Object(tokenFields, { title: 'Token' }));

const { created_at: _, portal: __, ...issuedFields } = tokenFields;
const tokenExample = 'pht_x1Vv5cZyJ0d0mYb2vEJkqk4Wn8oTq3uQx7Lr9sHf2Ag';

export const IssuedToken = dataOf(
  Type.Object(
    {
      ...issuedFields,
      token: text('The token. It is not shown again: only its hash is stored.', tokenExample),
    },
    { title: 'IssuedToken' },
  ),
);

export const ListedToken = Type.Object(
  {
    ...tokenFields,
    revoked_at: orNull(time('Time when the token was revoked. Null if it is not revoked.'), null),
    last_used_at: orNull(
      time('Time when the token was last used, accurate to within 10 seconds. Null if it was never used.'),
      null,
    ),
  },
  { title: 'ListedToken' },
);

export const PortalSession = dataOf(
  Type.Object(
    {
      url: Type.String({
        format: 'uri',
        description:
          'Link to the console, with the token in the fragment. Open it for your customer, or show it in a frame.',
        examples: [`https://hooks.example.com/console#token=${tokenExample}`],
      }),
      token: text("The session's token. It is not shown again: only its hash is stored.", tokenExample),
      expires_at: time('When the session ends.', '2026-11-15T10:30:00.000Z'),
    },
    { title: 'PortalSession' },
  ),
);

const requestFields = {
  organization_id: Type.String({
    pattern: identifierPattern.organization,
    description: 'The organization that the token belongs to.',
    examples: ['ORG-demo'],
  }),
  workspace_id: Type.Optional(
    orNull(
      Type.String({
        pattern: identifierPattern.workspace,
        description: 'Restricts the token to this workspace.',
        examples: ['WS-berlin'],
      }),
    ),
  ),
  actor: Type.Optional(
    ReferenceInput(
      'The actor that the audit log shows for actions with this token. Default: the token itself.',
      { type: 'user', id: 'USR-ada' },
    ),
  ),
} as const;

const expires = (fallback: string, description: string, example: string) =>
  Type.Optional(
    Type.String({
      default: fallback,
      'x-documented': { pattern: durationPattern },
      description,
      examples: [example],
    }),
  );

export const TokenRequest = Type.Object(
  {
    ...requestFields,
    scopes: Type.Optional(
      Type.Array(Type.Enum([...scopes]), {
        minItems: 1,
        description: `What the token may do. Default: ${defaultScopes.map((scope) => `\`${scope}\``).join(', ')}.`,
        examples: [['events:read', 'webhooks:read']],
      }),
    ),
    expires: expires('365d', 'Lifetime of the token: a duration, at most `36500d`.', '90d'),
  },
  { additionalProperties: false },
);

export const SessionRequest = Type.Object(
  {
    ...requestFields,
    read_only: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether to omit the `webhooks:write` scope, so that the session cannot change anything.',
        examples: [false],
      }),
    ),
    expires: expires('1h', 'Lifetime of the session: a duration, at most `24h`.', '1h'),
  },
  { additionalProperties: false },
);
