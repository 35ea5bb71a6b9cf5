import Type from 'typebox';
import { instantPattern } from '../values/instant.js';

export { EventSchema } from './event-schema.js';
export { cursorParameter, limitParameter, PageMeta } from './paging.js';

export const nullable = <T extends Type.TSchema>(schema: T, options: Type.TSchemaOptions) =>
  Type.Union([schema, Type.Null()], options);

/** Returns the schema of a filter. Accepts any non-empty value: an unknown one is not an error, but matches nothing. */
export const nonEmpty = (description: string, examples: string[]) =>
  Type.Optional(Type.String({ minLength: 1, description, examples }));

/** The filters that the event list and the tail share. */
export const eventFilters = {
  organization_id: Type.String({
    minLength: 1,
    description: 'Organization ID. The token must belong to this organization.',
    examples: ['ORG-demo'],
  }),
  workspace_id: nonEmpty('Return only results for this workspace.', ['WS-berlin']),
  type: nonEmpty('Return only events of this type.', ['invoice.finalized']),
  subject_type: nonEmpty('Return only events about this type of subject.', ['service_line']),
  subject_id: nonEmpty('Return only events about this subject. Use it to get the history of one resource.', [
    'LIN-7',
  ]),
  actor_id: nonEmpty('Return only events caused by this actor.', ['USR-ada']),
} as const;

const instant = (description: string, examples: string[]) =>
  Type.Optional(
    Type.String({ minLength: 1, description, examples, 'x-documented': { pattern: instantPattern } }),
  );

export const timeRange = {
  from: instant(
    'Start of the time range, inclusive: a date, or a time with `Z` or an offset. A date starts at 00:00 UTC.',
    ['2026-11-01'],
  ),
  to: instant(
    'End of the time range, inclusive: a date, or a time with `Z` or an offset. A date ends at 23:59:59.999 UTC.',
    ['2026-11-30T12:00:00Z'],
  ),
} as const;

/** The fields that explain a failure. */
export const diagnosisFields = {
  error_detail: Type.String({
    description: 'What happened, in one or two sentences.',
    examples: ['Nothing is listening on example.com:443.'],
  }),
  remedy: Type.String({
    description: 'What to do about it, in one or two sentences.',
    examples: ['Start the receiver, or correct the port in the URL.'],
  }),
};
