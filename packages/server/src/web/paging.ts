import Type from 'typebox';
import { decodeCursor, type Position } from '../values/cursor.js';
import type { InputFault } from '../values/problem.js';

export const PageMeta = Type.Object(
  {
    cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Pass this as `cursor` to get the next page. It does not expire.',
      examples: ['ELpE78cQ9KG_AQGh3T-Uin4'],
    }),
    has_more: Type.Boolean({ description: 'Whether there are more results.' }),
  },
  { title: 'PageMeta' },
);

export const cursorParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 500,
    description: '`meta.cursor` of the previous page. The filters must be the same.',
    examples: ['ELpE78cQ9KG_AQGh3T-Uin4'],
  }),
);

export const limitParameter = (fallback: number) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: fallback, description: 'Maximum number of results.' }),
  );

/** Returns a fault if a cursor was not issued for this binding. */
export function cursorFaults(cursor: unknown, binding: () => string): readonly InputFault[] {
  if (typeof cursor !== 'string' || cursor === '' || decodeCursor(cursor, binding())) return [];
  const detail =
    'must be the meta.cursor of a response with the same filters and order; start again without a cursor';
  return [{ parameter: 'cursor', code: 'invalid_cursor', detail }];
}

/** Returns the position of a cursor that `cursorFaults` accepted. */
export function positionOf(cursor: string | undefined, binding: string): Position | undefined {
  return cursor === undefined ? undefined : decodeCursor(cursor, binding);
}
