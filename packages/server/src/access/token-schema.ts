import Type from 'typebox';
import { ReferenceSchema } from '../web/event-schema.js';
import { scopes } from './token.js';

const time = (description: string, example: string) =>
  Type.String({ format: 'date-time', description, examples: [example] });

const ScopesSchema = Type.Array(Type.Enum([...scopes]), {
  description: 'What the token may do.',
  examples: [['events:read', 'webhooks:read']],
});

const ActorSchema = ReferenceSchema('The actor that the audit log shows for actions with this token.', {
  type: 'user',
  id: 'USR-ada',
});

/** The fields of a token that both listeners show. The token itself is not one of them. */
export const TokenFields = {
  id: Type.String({ description: 'Token ID.', examples: ['TOK-01KA3Z8M5Q2V7X4C9E1G6J8N0R'] }),
  organization_id: Type.String({
    description: 'The organization that the token belongs to.',
    examples: ['ORG-demo'],
  }),
  workspace_id: Type.Union([Type.String(), Type.Null()], {
    description: 'The only workspace that the token can access. Null means the whole organization.',
    examples: ['WS-berlin'],
  }),
  scopes: ScopesSchema,
  actor: ActorSchema,
  created_at: time('Time when the token was created.', '2026-11-15T09:30:00.000Z'),
  expires_at: time('Time when the token expires.', '2027-11-15T09:30:00.000Z'),
  portal: Type.Boolean({
    description: 'Whether the token is a portal session.',
    examples: [false],
  }),
};
