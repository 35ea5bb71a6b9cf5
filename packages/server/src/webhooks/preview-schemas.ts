import Type from 'typebox';
import { instantPattern } from '../values/instant.js';
import { dataOf, EventSchema, flag, text, time, whole } from '../web/schemas.js';
import { CreateBody, EventTypesField, FilterField, FormatField, TemplateField } from './webhook-schemas.js';

export const PreviewBody = Type.Object(
  {
    organization_id: CreateBody.properties.organization_id,
    workspace_id: CreateBody.properties.workspace_id,
    event_types: EventTypesField,
    filter: Type.Optional(FilterField),
    format: Type.Optional(FormatField),
    template: Type.Optional(TemplateField),
    from: Type.Optional(
      Type.String({
        description: 'Start of the time range: a date or a time. Default: 24 hours before `to`.',
        'x-documented': { pattern: instantPattern },
      }),
    ),
    to: Type.Optional(
      Type.String({
        description: 'End of the time range: a date or a time. Default: now.',
        'x-documented': { pattern: instantPattern },
      }),
    ),
  },
  { additionalProperties: false },
);

export const PreviewResult = dataOf(
  Type.Object(
    {
      from: time('Start of the time range.'),
      to: time('End of the time range.'),
      examined: whole('How many events were examined: the newest ones of the range, at most 10,000.', 1800),
      matched: whole('How many of them the webhook would have got.', 12),
      is_complete: flag('Whether all events of the range were examined.', true),
      events: Type.Array(
        Type.Object(
          {
            ...EventSchema.properties,
            body: Type.Optional(
              text(
                'The body as it would be sent. Only present if the request has a `format`.',
                '{"id":"EVT-01JAB3C4D5E6F7G8H9J0K1M2N3"}',
              ),
            ),
          },
          { title: 'PreviewedEvent' },
        ),
        { description: 'The newest of them, at most 10.' },
      ),
    },
    { title: 'PreviewResult' },
  ),
);
