import Type from 'typebox';
import { identifierPattern, textPattern } from '../values/pattern.js';
import * as schemas from '../web/schemas.js';
import type { Filter } from './filter.js';
import { formats } from './format.js';
import type { Template } from './template.js';
import { webhookStatuses } from './webhook.js';
import { documentedHeaders, type GivenHeaders } from './webhook-headers.js';

const VerificationFailure = schemas.named('VerificationFailure', {
  at: schemas.time('Time of the verification.'),
  reason: schemas.text(
    'Delivery error, such as `timeout`, or `unexpected_status` if the status was not 200.',
    'connect',
  ),
  http_status: schemas.wholeOrNull('HTTP status that the receiver returned. Null if no response arrived.'),
  duration_ms: schemas.whole('Duration in milliseconds.'),
  response: schemas.textOrNull('First 1 KiB of the response body, as text.'),
  ...schemas.diagnosisFields,
});

export const FilterField = Type.Unsafe<Filter | null>({
  type: ['object', 'null'],
  additionalProperties: true,
  description:
    'Which of the subscribed events the webhook gets. All keys must match, and one of the conditions of each key: a ' +
    'string, number, boolean or null that the value must equal, `{"prefix": "…"}`, `{"not": […]}`, `{"exists": true}`, ' +
    '`{"exists": false}`, or one or two of `gt`, `gte`, `lt` and `lte`. The keys are `workspace_id`, `subject_type`, ' +
    '`subject_id`, `actor_type`, `actor_id` and `payload`, which mirrors the payload. Of an array in the payload, one ' +
    'element must match. At most 4 KiB, 64 conditions and 5 levels. Null means all subscribed events. ' +
    'Example: `{"payload": {"currency": ["EUR", "CHF"], "amount": [{"gte": 1000}]}}`.',
  examples: [null],
});
const formatText =
  'The body of a delivery. `envelope`: ID, type, time and `data`, the payload. `event`: the event as the API returns it. ' +
  '`thin`: the same without the payload. `cloudevents`: CloudEvents 1.0 in structured mode. `slack`: a text for the ' +
  'incoming webhook of a chat. `template`: the body that `template` describes.';
export const FormatField = schemas.choiceOrNull(
  'Format',
  formats,
  `${formatText} Default: \`envelope\`.`,
  'envelope',
);
export const TemplateField = Type.Unsafe<Template | null>({
  type: ['object', 'array', 'null'],
  additionalProperties: true,
  items: {},
  description:
    'The body, if `format` is `template`; otherwise null. In its strings, `{{path}}` stands for a value of the event as ' +
    'the format `event` has it, such as `{{payload.lines.0.amount}}`. A string that is one placeholder becomes that ' +
    'value with its JSON type, or null. Inside a longer string, the value becomes text. `{{{{` stands for two braces. At ' +
    'most 16 KiB, 10 levels, and 10 names in a path.',
  examples: [null],
});

/** What requests can set, and responses contain in the same form. */
const settings = {
  description: schemas.orNull(
    Type.String({
      maxLength: 256,
      pattern: textPattern.storable,
      description: 'A name or a note, at most 256 characters.',
      examples: ['orders-eu'],
    }),
  ),
  rate_limit: schemas.orNull(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description:
        'Maximum number of requests per second, 1 to 1,000. Null means no limit. The nodes of the service share it, but ' +
        'each may send one request per second.',
      examples: [null],
    }),
  ),
  retry_schedule: schemas.orNull(
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 19,
      description:
        'Waits before the second and later attempts of a delivery: 1 to 19 durations from `1ms` to `30d`. Null means the ' +
        "service's waits.",
      examples: [['30s', '10m', '6h']],
    }),
  ),
  expires_at: schemas.orNull(
    Type.String({
      'x-documented': { format: 'date-time' },
      description: 'Time at which the webhook is deleted. Null means never.',
      examples: [null],
    }),
  ),
  filter: FilterField,
};

/** The same fields and those that responses contain in another form. */
const settingFields = {
  ...settings,
  headers: Type.Unsafe<GivenHeaders | null>({
    type: ['object', 'null'],
    additionalProperties: true,
    'x-documented': documentedHeaders,
    description:
      'Custom headers to send with every request: at most 10 names, with values of 1 to 1,024 printable ASCII ' +
      'characters. A value can contain spaces, but cannot start or end with one. Headers are stored encrypted, ' +
      'and their values are never returned. Not allowed: `Host`, `User-Agent`, `Expect`, `Content-*`, ' +
      '`webhook-*`, `X-Service-*` and connection headers. An update replaces all headers. In an update, a name ' +
      'whose value is null keeps its stored value, and `{}` or null removes all headers. If an update changes the ' +
      'scheme, host or port of `url`, stored values must be given again or removed (422 `secrets_required`).',
    examples: [{ Authorization: 'Bearer 4f1c9d' }],
  }),
  format: FormatField,
  template: TemplateField,
};

const generatedSecret = Type.Optional(
  schemas.text('The generated secret. Only present if the request had no secret. It is not returned again.'),
);

const fields = {
  id: schemas.id('WHK', 'Webhook ID.', 'WHK-01JAB3C4D5E6F7G8H9J0K1M2N3'),
  organization_id: schemas.organizationId,
  workspace_id: schemas.textOrNull(
    'Workspace ID. Null if the webhook receives events from the whole organization.',
    null,
  ),
  url: schemas.text('URL that events are sent to.', 'https://example.com/webhooks'),
  status: schemas.oneOf(
    webhookStatuses,
    'An `active` webhook receives events. While it is `paused`, they wait. While it is `unverified` or `disabled`, it ' +
      'receives none.',
    'active',
  ),
  ...settings,
  headers: schemas.mapOf(Type.Union([Type.String(), Type.Null()]), {
    description: 'Names of the custom headers. Their values are always null.',
    examples: [{ Authorization: null }],
  }),
  format: schemas.oneOf(formats, formatText, 'envelope'),
  template: TemplateField,
  disabled_reason: schemas.choiceOrNull(
    'DisabledReason',
    ['gone', 'failing', 'manual'],
    'Why the webhook is `disabled`: the receiver returned 410 (`gone`), every attempt failed for 5 days (`failing`), or a request disabled it (`manual`). Otherwise null.',
    null,
  ),
  event_types: Type.Array(Type.String(), {
    description: 'Event types that the webhook subscribes to.',
    examples: [['invoice.*', 'incident.opened']],
  }),
  created_at: schemas.time('Time when the webhook was created.'),
  last_delivery_at: schemas.timeOrNull('Time of the latest delivery attempt. Null before the first attempt.'),
  last_delivery_status: schemas.choiceOrNull(
    'AttemptStatus',
    ['success', 'failed'],
    'Result of the latest delivery attempt. Null before the first attempt.',
    'success',
  ),
  failing_since: schemas.timeOrNull(
    'Time of the first of at least five failed attempts in a row. Null if the webhook is not failing.',
    null,
  ),
  verification_failure: Type.Union([VerificationFailure, Type.Null()], {
    description: 'Why the latest verification of an `unverified` or `paused` webhook failed. Otherwise null.',
    examples: [null],
  }),
  previous_secret_until: schemas.timeOrNull(
    'Time until which requests are also signed with the previous secret. Null if there is no previous secret.',
    null,
  ),
};
const { last_delivery_at, last_delivery_status, failing_since, previous_secret_until, ...created } = fields;

/** One webhook. No read ever returns its secret. */
export const WebhookSchema = schemas.named('Webhook', fields);
export const CreatedWebhook = schemas.namedData('CreatedWebhook', { ...created, secret: generatedSecret });
export const RotatedWebhook = schemas.namedData('RotatedWebhook', { ...fields, secret: generatedSecret });

export const EventTypesField = Type.Union(
  [
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 100 }),
    Type.Literal('*'),
  ],
  {
    // Java clients cannot send a choice between a list and a text.
    'x-documented': {
      anyOf: undefined,
      type: 'array',
      minItems: 1,
      maxItems: 100,
      items: { type: 'string', minLength: 1, maxLength: 200 },
    },
    description:
      'Event types, whole domains (`invoice.*`), or `*` for all types. The string `"*"` means the same as `["*"]`.',
    examples: [['invoice.*', 'incident.opened']],
  },
);

const SecretField = Type.String({
  minLength: 16,
  maxLength: 256,
  pattern: textPattern.signing,
  description:
    'Secret that signs the requests: 16 to 256 characters, no control characters. If you omit it, the service ' +
    'generates one and returns it once.',
  examples: ['a-secret-of-16-characters-or-more'],
});

const UrlField = Type.String({
  description: 'Absolute `https` URL with a public address, at most 2,048 characters.',
  'x-documented': { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', maxLength: 2048 },
  examples: ['https://example.com/webhooks'],
});

export const CreateBody = schemas.closed({
  organization_id: Type.String({
    minLength: 1,
    maxLength: 256,
    description: 'Organization ID. The token must belong to this organization.',
    examples: ['ORG-demo'],
  }),
  workspace_id: Type.Optional(
    Type.Union([Type.String({ pattern: identifierPattern.workspace }), Type.Null()], {
      description:
        'Workspace ID. If set, the webhook receives only events from this workspace. Otherwise, it receives ' +
        'events from the whole organization.',
    }),
  ),
  url: UrlField,
  event_types: EventTypesField,
  ...schemas.optional({
    secret: SecretField,
    ...settingFields,
    status: schemas.oneOf(
      ['disabled'],
      '`disabled` creates the webhook without a verification, so that your receiver can get the secret first. To ' +
        'verify and activate it, send PATCH with `"status": "active"`.',
    ),
  }),
});

export const PatchBody = Type.Object(
  schemas.optional({
    url: UrlField,
    event_types: EventTypesField,
    ...settingFields,
    status: schemas.oneOf(
      ['active', 'paused', 'disabled'],
      '`paused` stops sending immediately; what is recorded meanwhile waits. `disabled` also ends what waits. ' +
        '`active` resumes a paused webhook. Any other webhook is verified again; if that fails, it becomes ' +
        '`unverified`.',
    ),
  }),
  { additionalProperties: false, minProperties: 1, examples: [{ event_types: ['invoice.*'] }] },
);

export const RotateBody = schemas.closed(
  schemas.optional({
    secret: SecretField,
    grace: schemas.duration('24h', 'How long the old secret stays valid: a duration, at most `30d`.', '24h'),
  }),
);

/** The body of requests that need no body. If there is one, it must be an empty object. */
export const NoBody = Type.Object(
  {},
  { title: 'NoBody', additionalProperties: false, description: 'Empty.' },
);
