import Type from 'typebox';

export { EventSchema } from '../web/event-schema.js';

export const PageMeta = Type.Object({
  cursor: Type.Union([Type.String(), Type.Null()], {
    description: 'Pass it as `cursor` for the next page. Opaque; it does not expire.',
    examples: ['ELpE78cQ9KG_AQGh3T-Uin4'],
  }),
  has_more: Type.Boolean({ description: 'Whether there is more behind this page now.' }),
});

/** Of any length: what nobody knows is not found, it is no fault. */
export const nonEmpty = (description: string, examples: string[]) =>
  Type.Optional(Type.String({ minLength: 1, description, examples }));

/** The filters that events share between the list and the tail. */
export const eventFilters = {
  organization_id: Type.String({
    minLength: 1,
    description: 'The organization. The token must be for it.',
    examples: ['ORG-demo'],
  }),
  workspace_id: nonEmpty('Only this workspace.', ['WS-berlin']),
  type: nonEmpty('Only this exact type.', ['invoice.finalized']),
  subject_type: nonEmpty('Only subjects of this kind.', ['service_line']),
  subject_id: nonEmpty('Only this subject: the history of one resource.', ['LIN-7']),
  actor_id: nonEmpty('Only what this actor did.', ['USR-ada']),
} as const;

export const timeRange = {
  from: nonEmpty(
    'Not before this date or date-time (with `Z` or an offset), inclusive. A date begins at 00:00 UTC.',
    ['2026-11-01'],
  ),
  to: nonEmpty('Not after this date or date-time, inclusive. A date ends at 23:59:59.999 UTC.', [
    '2026-11-30T12:00:00Z',
  ]),
} as const;

export const cursorParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 500,
    description: '`meta.cursor` of a page with the same filters.',
    examples: ['ELpE78cQ9KG_AQGh3T-Uin4'],
  }),
);

export const limitParameter = (fallback: number) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: fallback, description: 'How many at most.' }),
  );
