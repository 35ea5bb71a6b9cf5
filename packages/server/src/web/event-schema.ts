import Type from 'typebox';

const instant = (description: string) => Type.String({ format: 'date-time', description });

export const IdAndKind = (description: string, kinds: string, sample: { type: string; id: string }) =>
  Type.Object(
    { type: Type.String({ description: kinds }), id: Type.String({ description: 'Its id.' }) },
    { description, examples: [sample] },
  );

export const EventSchema = Type.Object(
  {
    id: Type.String({
      pattern: '^EVT-',
      description: 'The event.',
      examples: ['EVT-01JAB3C4D5E6F7G8H9J0K1M2N3'],
    }),
    type: Type.String({ description: 'One of `GET /v1/event-types`.', examples: ['service_line.activated'] }),
    organization_id: Type.String({
      pattern: '^ORG-',
      description: 'Where it happened.',
      examples: ['ORG-demo'],
    }),
    workspace_id: Type.Union([Type.String({ pattern: '^WS-' }), Type.Null()], {
      description: 'Null for events of the whole organization.',
      examples: ['WS-berlin'],
    }),
    actor: IdAndKind('Who did it.', 'The kind: `user`, `agent`, `system`, …', {
      type: 'user',
      id: 'USR-ada',
    }),
    subject: IdAndKind('What it happened to.', 'The kind: `service_line`, `run`, …', {
      type: 'service_line',
      id: 'LIN-7',
    }),
    payload: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'Depends on the type. Key order and numbers are those it was recorded with.',
        examples: [
          {
            previous_status: 'draft',
            new_status: 'active',
            execution_model: 'agent_led',
            product_line: 'bookkeeping',
          },
        ],
      },
    ),
    created_at: instant('When the event was recorded. RFC 3339, UTC, milliseconds.'),
  },
  { title: 'Event', additionalProperties: false },
);
