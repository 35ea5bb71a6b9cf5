import Type from 'typebox';
import { attemptErrors } from '../outcomes/outcome.js';
import { instant } from '../web/lists.js';
import * as schemas from '../web/schemas.js';
import { CreateBody, EventTypesField, FilterField, FormatField, TemplateField } from './webhook-schemas.js';

export const TestBody = schemas.closed({
  event_type: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Event type to send. The event has the sample payload of this type.',
    examples: ['invoice.finalized'],
  }),
});

/** Returns the schema of the response headers that are stored. */
export const ResponseHeaders = (description: string, ...examples: object[]) =>
  Type.Object(
    {
      'content-type': Type.Optional(schemas.text('`Content-Type`.')),
      location: Type.Optional(schemas.text('`Location`.')),
      'retry-after': Type.Optional(schemas.text('`Retry-After`.')),
      server: Type.Optional(schemas.text('`Server`.')),
    },
    { title: 'ResponseHeaders', description, ...(examples.length > 0 && { examples }) },
  );

/** The request of a test or a delivery, apart from its URL. */
export const requestFields = {
  headers: schemas.mapOf(Type.Union([Type.String(), Type.Null()]), {
    description: 'Request headers, without signatures. The values of custom headers are null.',
    examples: [
      {
        'Content-Type': 'application/json',
        'Accept-Encoding': 'identity',
        'User-Agent': 'Posthorn/0.1.0',
        'webhook-id': 'EVT-01JAB3C4D5E6F7G8H9J0K1M2N3',
        'webhook-timestamp': '1794735000',
        'X-Service-Subject': 'invoice/INV-01K1RB6W8Y0A2C4E6G8J0M2P4R',
        'X-Service-Actor': 'user/USR-ada',
        'X-Service-Delivery': 'WDLV-01JAB3C4D5E6F7G8H9J0K1M2N3',
        'X-Service-Attempt': '1',
        Authorization: null,
      },
    ],
  }),
  body: schemas.textOrNull(
    'Request body. Null if the token lacks the `events:read` scope, if the event no longer exists, or if the format of ' +
      'the webhook has changed since.',
    '{"id":"EVT-01JAB3C4D5E6F7G8H9J0K1M2N3"}',
  ),
};

export const TestResult = schemas.namedData('TestResult', {
  id: schemas.id('WDLV', 'Delivery ID, as in `X-Service-Delivery`.'),
  webhook_id: schemas.id('WHK', 'Webhook ID.'),
  event_id: schemas.id('EVT', 'Event ID, as in the body that was sent.'),
  event_type: schemas.text('Event type.', 'invoice.finalized'),
  status: schemas.oneOf(['success', 'failed'], '`success` if the receiver returned 2xx in time.', 'success'),
  http_status: schemas.wholeOrNull(
    'HTTP status that the receiver returned. Null if no response arrived.',
    200,
  ),
  response_time_ms: schemas.whole('Duration of the attempt in milliseconds.', 41),
  error: schemas.choiceOrNull(
    'AttemptError',
    attemptErrors,
    'Why no response arrived. Null if a response arrived.',
    null,
  ),
  attempted_at: schemas.time('Time of the attempt.'),
  error_detail: schemas.textOrNull('What happened, in one or two sentences. Null for `success`.', null),
  remedy: schemas.textOrNull('What to do about it, in one or two sentences. Null for `success`.', null),
  response: schemas.textOrNull('First 1 KiB of the response body, as text.', 'ok'),
  response_headers: ResponseHeaders('The response headers listed here, if the receiver sent them.', {}),
  request: Type.Object(
    { url: schemas.text('URL.', 'https://example.com/webhooks'), ...requestFields },
    { title: 'TestRequest', description: 'The request, without signatures.' },
  ),
});

export const PreviewBody = schemas.closed({
  organization_id: CreateBody.properties.organization_id,
  workspace_id: CreateBody.properties.workspace_id,
  event_types: EventTypesField,
  filter: Type.Optional(FilterField),
  format: Type.Optional(FormatField),
  template: Type.Optional(TemplateField),
  from: Type.Optional(instant('Start of the time range: a date or a time. Default: 24 hours before `to`.')),
  to: Type.Optional(instant('End of the time range: a date or a time. Default: now.')),
});

export const PreviewResult = schemas.namedData('PreviewResult', {
  from: schemas.time('Start of the time range.'),
  to: schemas.time('End of the time range.'),
  examined: schemas.whole(
    'How many events were examined: the newest ones of the range, at most 10,000.',
    1800,
  ),
  matched: schemas.whole('How many of them the webhook would have got.', 12),
  is_complete: schemas.flag('Whether all events of the range were examined.', true),
  events: Type.Array(
    schemas.named('PreviewedEvent', {
      ...schemas.EventSchema.properties,
      body: Type.Optional(
        schemas.text(
          'The body as it would be sent. Only present if the request has a `format`.',
          '{"id":"EVT-01JAB3C4D5E6F7G8H9J0K1M2N3"}',
        ),
      ),
    }),
    { description: 'The newest of them, at most 10.' },
  ),
});
