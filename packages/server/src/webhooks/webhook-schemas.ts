import Type from 'typebox';
import type { Catalogue } from '../catalogue/catalogue.js';
import { textPattern } from '../values/pattern.js';
import type { InputFault } from '../values/problem.js';
import { diagnosisFields } from '../web/schemas.js';
import { faultsOfSubscription } from './webhook.js';
import { documentedHeaders, type GivenHeaders, headerFaults } from './webhook-headers.js';

const VerificationFailure = Type.Object(
  {
    at: Type.String({ format: 'date-time', description: 'Time of the verification.' }),
    reason: Type.String({
      description: 'Delivery error, such as `timeout`, or `unexpected_status` if the status was not 200.',
      examples: ['connect'],
    }),
    http_status: Type.Union([Type.Integer(), Type.Null()], {
      description: 'HTTP status that the receiver returned. Null if no response arrived.',
    }),
    duration_ms: Type.Integer({ description: 'Duration in milliseconds.' }),
    response: Type.Union([Type.String(), Type.Null()], {
      description: 'First 1 KiB of the response body, as text.',
    }),
    ...diagnosisFields,
  },
  { title: 'VerificationFailure' },
);

/** The fields of a webhook that every response contains. */
const identity = {
  id: Type.String({
    pattern: '^WHK-',
    description: 'Webhook ID.',
    examples: ['WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'],
  }),
  organization_id: Type.String({ description: 'Organization ID.', examples: ['ORG-demo'] }),
  workspace_id: Type.Union([Type.String(), Type.Null()], {
    description: 'Workspace ID. Null if the webhook receives events from the whole organization.',
    examples: [null],
  }),
  url: Type.String({
    description: 'URL that events are sent to.',
    examples: ['https://example.com/webhooks'],
  }),
  status: Type.Enum(['active', 'unverified', 'disabled'], {
    description: 'Only an `active` webhook receives events.',
    examples: ['active'],
  }),
};

const descriptionOptions = {
  description: 'A name or a note, at most 256 characters.',
  examples: ['orders-eu'],
};
const rateLimitOptions = {
  description:
    'Maximum number of requests per second, 1 to 1,000. Null means no limit. Each node of the service counts ' +
    'separately.',
  examples: [null],
};

/** What a request to create or change a webhook can set, in addition to the subscription. */
export const settingFields = {
  description: Type.Optional(
    Type.Union(
      [Type.String({ maxLength: 256, pattern: textPattern.storable }), Type.Null()],
      descriptionOptions,
    ),
  ),
  rate_limit: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Null()], rateLimitOptions),
  ),
  headers: Type.Optional(
    Type.Unsafe<GivenHeaders | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      'x-documented': documentedHeaders,
      description:
        'Custom headers to send with every request: at most 10 names, with values of 1 to 1,024 printable ASCII ' +
        'characters. A value can contain spaces, but cannot start or end with one. Headers are stored encrypted, ' +
        'and their values are never returned. Not allowed: `Host`, `User-Agent`, `Expect`, `Content-*`, ' +
        '`webhook-*`, `X-Service-*` and connection headers. An update replaces all headers. In an update, a name ' +
        'whose value is null keeps its stored value, and `{}` or null removes all headers.',
      examples: [{ Authorization: 'Bearer 4f1c9d' }],
    }),
  ),
};

/** The same fields, as responses contain them. */
const settings = {
  description: Type.Union([Type.String(), Type.Null()], descriptionOptions),
  rate_limit: Type.Union([Type.Integer(), Type.Null()], rateLimitOptions),
  headers: Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]), {
    description: 'Names of the custom headers. Their values are always null.',
    examples: [{ Authorization: null }],
  }),
};

const subscription = {
  event_types: Type.Array(Type.String(), {
    description: 'Event types that the webhook subscribes to.',
    examples: [['invoice.*', 'incident.opened']],
  }),
  created_at: Type.String({ format: 'date-time', description: 'Time when the webhook was created.' }),
};

const secret = Type.Optional(
  Type.String({
    description: 'The generated secret. Only present if the request had no secret. It is not returned again.',
  }),
);

const fields = {
  ...identity,
  ...settings,
  disabled_reason: Type.Union([Type.Enum(['gone', 'failing', 'manual']), Type.Null()], {
    description:
      'Why the webhook is `disabled`: the receiver returned 410 (`gone`), every attempt failed for 5 days (`failing`), or a request disabled it (`manual`). Otherwise null.',
    examples: [null],
  }),
  ...subscription,
  last_delivery_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Time of the latest delivery attempt. Null before the first attempt.',
  }),
  last_delivery_status: Type.Union([Type.Enum(['success', 'failed']), Type.Null()], {
    description: 'Result of the latest delivery attempt. Null before the first attempt.',
    examples: ['success'],
  }),
  verification_failure: Type.Union([VerificationFailure, Type.Null()], {
    description: 'Why the webhook is `unverified`: the result of the latest verification. Otherwise null.',
    examples: [null],
  }),
  previous_secret_until: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description:
      'Time until which requests are also signed with the previous secret. Null if there is no previous secret.',
    examples: [null],
  }),
};

/** One webhook. No read ever returns its secret. */
export const WebhookSchema = Type.Object(fields, { title: 'Webhook' });
export const CreatedWebhookSchema = Type.Object(
  { ...identity, ...settings, ...subscription, verification_failure: fields.verification_failure, secret },
  { title: 'CreatedWebhook' },
);
export const RotatedWebhookSchema = Type.Object({ ...fields, secret }, { title: 'RotatedWebhook' });

export const EventTypesField = Type.Union(
  [
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 100 }),
    Type.Literal('*'),
  ],
  {
    description: 'Event types, whole domains (`invoice.*`), or `*` for all types.',
    examples: [['invoice.*', 'incident.opened']],
  },
);

/** Returns what is wrong with `headers`. `canKeep` means that null keeps a stored value. */
export function customHeaderFaults(given: unknown, canKeep: boolean): readonly InputFault[] {
  if (typeof given !== 'object' || Array.isArray(given)) return [];
  return headerFaults(given, canKeep).map((fault) => ({ ...fault, pointer: `/headers${fault.pointer}` }));
}

/** Returns faults in `event_types` that the schema does not detect. Types in `subscribed` need not be known. */
export function eventTypesFaults(
  given: unknown,
  catalogue: Catalogue,
  subscribed: readonly string[] = [],
): readonly InputFault[] {
  if (!Array.isArray(given) || given.length > 100) return [];
  const faults = faultsOfSubscription(given, catalogue, subscribed);
  return faults.map((fault) => ({ ...fault, pointer: `/event_types${fault.pointer}` }));
}

export const SecretField = Type.String({
  minLength: 16,
  maxLength: 256,
  pattern: textPattern.signing,
  description:
    'Secret that signs the requests: 16 to 256 characters, no control characters. If you omit it, the service ' +
    'generates one and returns it once.',
  examples: ['a-secret-of-16-characters-or-more'],
});

/** The body of requests that need no body. If there is one, it must be an empty object. */
export const NoBody = Type.Object(
  {},
  { title: 'NoBody', additionalProperties: false, description: 'Empty.' },
);

export const UrlField = Type.String({
  description: 'Absolute `https` URL with a public address, at most 2,048 characters.',
  'x-documented': { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', maxLength: 2048 },
  examples: ['https://example.com/webhooks'],
});

export const webhookParams = Type.Object({
  webhook_id: Type.String({ description: 'Webhook ID.', examples: ['WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'] }),
});
