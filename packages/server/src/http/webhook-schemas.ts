import Type from 'typebox';
import type { Catalogue } from '../domain/catalogue.js';
import type { InputFault } from '../domain/problem.js';
import { normaliseEventTypes } from '../domain/webhook.js';

export const WebhookSchema = Type.Object(
  {
    id: Type.String({ pattern: '^WHK-', examples: ['WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'] }),
    organization_id: Type.String({ examples: ['ORG-demo'] }),
    workspace_id: Type.Union([Type.String(), Type.Null()], {
      description: 'Null where it gets the events of the whole organization.',
      examples: [null],
    }),
    url: Type.String({ examples: ['https://example.com/webhooks'] }),
    status: Type.Enum(['active', 'unverified', 'disabled'], { examples: ['active'] }),
    disabled_reason: Type.Optional(
      Type.Union([Type.Enum(['gone', 'failing', 'manual']), Type.Null()], { examples: [null] }),
    ),
    event_types: Type.Array(Type.String(), { examples: [['invoice.*', 'incident.opened']] }),
    created_at: Type.String({ format: 'date-time' }),
    last_delivery_at: Type.Optional(
      Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
        description: 'Of the latest attempt.',
      }),
    ),
    last_delivery_status: Type.Optional(
      Type.Union([Type.Enum(['success', 'failed']), Type.Null()], { examples: ['success'] }),
    ),
    secret: Type.Optional(
      Type.String({ description: 'Only in the answer that made it, and only where it was generated.' }),
    ),
  },
  { title: 'Webhook' },
);

export const EventTypesField = Type.Union(
  [
    Type.Literal('*'),
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 100 }),
  ],
  {
    description: 'Event types, whole domains (`invoice.*`), or `*` for all.',
    examples: [['invoice.*', 'incident.opened']],
  },
);

/** What is wrong with an `event_types` that its schema lets through. */
export function eventTypesFaults(given: unknown, catalogue: Catalogue): readonly InputFault[] {
  if (given !== '*' && !isTypeList(given)) return [];
  const types = normaliseEventTypes(given, catalogue);
  if (types.ok) return [];
  return types.faults.map((fault) => ({ ...fault, pointer: `/event_types${fault.pointer}` }));
}

function isTypeList(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > 100) return false;
  return value.every((type) => typeof type === 'string' && type !== '' && type.length <= 200);
}

export const SecretField = Type.String({
  minLength: 16,
  maxLength: 256,
  // Half a surrogate pair has no UTF-8 bytes: the key would not be what its author gave.
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$',
  description:
    'Signs requests. 16 to 256 characters, no control characters. Left out, one is generated and shown once.',
  examples: ['a-secret-of-16-characters-or-more'],
});

/** Of requests that need none; what is sent all the same must be an empty object. */
export const NoBody = Type.Object({}, { additionalProperties: false, description: 'Nothing is needed.' });

export const UrlField = Type.String({
  description: 'Absolute `https` URL of a public address, at most 2,048 characters.',
  examples: ['https://example.com/webhooks'],
});

export const webhookParams = Type.Object({
  webhook_id: Type.String({ examples: ['WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'] }),
});
