import Type from 'typebox';
import { identifierPattern, kindPattern } from '../values/identifier.js';

const instant = (description: string) => Type.String({ format: 'date-time', description });

/** Returns the schema of an actor, a subject or a target. The description says which types are usual. */
export const ReferenceSchema = (description: string, sample: { type: string; id: string }) =>
  Type.Object(
    { type: Type.String({ description: 'Type.' }), id: Type.String({ description: 'ID.' }) },
    { title: 'Reference', description, examples: [sample] },
  );

/** Returns the schema of an actor or a subject in a request. */
export const ReferenceInput = (description: string, example: { type: string; id: string }) =>
  Type.Object(
    {
      type: Type.String({ pattern: kindPattern, description: 'Type, such as `user` or `invoice`.' }),
      id: Type.String({ pattern: identifierPattern.resource, description: 'ID.' }),
    },
    { title: 'ReferenceInput', additionalProperties: false, description, examples: [example] },
  );

export const EventSchema = Type.Object(
  {
    id: Type.String({
      pattern: '^EVT-',
      description: 'Event ID.',
      examples: ['EVT-01JAB3C4D5E6F7G8H9J0K1M2N3'],
    }),
    type: Type.String({
      description: 'Event type. `GET /v1/event-types` lists all types.',
      examples: ['service_line.activated'],
    }),
    organization_id: Type.String({
      pattern: '^ORG-',
      description: 'Organization ID.',
      examples: ['ORG-demo'],
    }),
    workspace_id: Type.Union([Type.String({ pattern: '^WS-' }), Type.Null()], {
      description: 'Workspace ID. Null if the event concerns the whole organization.',
      examples: ['WS-berlin'],
    }),
    actor: ReferenceSchema('Who caused the event, such as a `user`, an `agent` or the `system`.', {
      type: 'user',
      id: 'USR-ada',
    }),
    subject: ReferenceSchema('What the event is about, such as a `service_line` or a `run`.', {
      type: 'service_line',
      id: 'LIN-7',
    }),
    payload: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'Depends on the event type. The key order and the numbers are exactly as recorded.',
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
    created_at: instant('Time when the event was recorded.'),
  },
  { title: 'Event', additionalProperties: false },
);
