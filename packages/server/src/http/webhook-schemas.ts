import Type from 'typebox';
import type { Catalogue } from '../domain/catalogue.js';
import { textPattern } from '../domain/pattern.js';
import type { InputFault } from '../domain/problem.js';
import { normaliseEventTypes } from '../domain/webhook.js';

const VerificationFailure = Type.Object({
  at: Type.String({ format: 'date-time', description: 'When it was tried.' }),
  reason: Type.String({ description: 'An error kind, or `unexpected_status`.', examples: ['connect'] }),
  http_status: Type.Union([Type.Integer(), Type.Null()], { description: 'Null where none came.' }),
  duration_ms: Type.Integer({ description: 'How long it took.' }),
  response: Type.Union([Type.String(), Type.Null()], {
    description: 'The first 1 KiB of what the receiver answered.',
  }),
});

/** What every answer tells of a webhook. */
const identity = {
  id: Type.String({
    pattern: '^WHK-',
    description: 'The webhook.',
    examples: ['WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'],
  }),
  organization_id: Type.String({ description: 'Whose events it gets.', examples: ['ORG-demo'] }),
  workspace_id: Type.Union([Type.String(), Type.Null()], {
    description: 'Null where it gets the events of the whole organization.',
    examples: [null],
  }),
  url: Type.String({ description: 'Where they are sent.', examples: ['https://example.com/webhooks'] }),
  status: Type.Enum(['active', 'unverified', 'disabled'], {
    description: 'Only an `active` one gets events.',
    examples: ['active'],
  }),
};

const subscription = {
  event_types: Type.Array(Type.String(), {
    description: 'What it subscribes to.',
    examples: [['invoice.*', 'incident.opened']],
  }),
  created_at: Type.String({ format: 'date-time', description: 'When it was created.' }),
};

const secret = Type.Optional(
  Type.String({ description: 'Only where the request gave none: the generated one, shown this once.' }),
);

const listed = {
  ...identity,
  disabled_reason: Type.Union([Type.Enum(['gone', 'failing', 'manual']), Type.Null()], {
    description:
      'Why it is `disabled`: it answered 410, it failed for days, or somebody did it. Null otherwise.',
    examples: [null],
  }),
  ...subscription,
  last_delivery_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'When the latest attempt was made; null before the first.',
  }),
  last_delivery_status: Type.Union([Type.Enum(['success', 'failed']), Type.Null()], {
    description: 'What came of the latest attempt; null before the first.',
    examples: ['success'],
  }),
};

const one = {
  ...listed,
  verification_failure: Type.Union([VerificationFailure, Type.Null()], {
    description: 'Why it is `unverified`: what came of the latest verification. Null otherwise.',
    examples: [null],
  }),
};

/** One webhook; no read ever shows its secret. */
export const WebhookSchema = Type.Object(one, { title: 'Webhook' });
export const ListedWebhookSchema = Type.Object(listed, { title: 'Webhook' });
export const CreatedWebhookSchema = Type.Object(
  { ...identity, ...subscription, secret },
  { title: 'Webhook' },
);
export const RotatedWebhookSchema = Type.Object({ ...one, secret }, { title: 'Webhook' });

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
  pattern: textPattern.signing,
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
  webhook_id: Type.String({ description: 'The webhook.', examples: ['WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'] }),
});
