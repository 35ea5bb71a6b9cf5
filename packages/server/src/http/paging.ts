import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { decodeCursor, encodeCursor, type Position } from '../domain/page.js';
import type { InputFault } from '../domain/problem.js';

export const orderParameter = (what: string) =>
  Type.Optional(
    Type.Enum(['desc', 'asc'], {
      default: 'desc',
      description: `\`desc\`: newest first. \`asc\`: oldest first; if you keep following the cursor, you get every ${what} exactly once.`,
    }),
  );

/** Returns what is wrong with a cursor: it was not issued for this binding. */
export function cursorFaults(cursor: unknown, binding: () => string): readonly InputFault[] {
  if (typeof cursor !== 'string' || cursor === '' || decodeCursor(cursor, binding())) return [];
  const detail =
    'must be the meta.cursor of a response to the same filters and order; start again without a cursor';
  return [{ parameter: 'cursor', code: 'invalid_cursor', detail }];
}

/** Returns the position of a cursor that `cursorFaults` accepted. */
export function positionOf(cursor: string | undefined, binding: string): Position | undefined {
  return cursor === undefined ? undefined : decodeCursor(cursor, binding);
}

/** Sends a page whose rows are JSON texts already. */
export function sendPage(
  reply: FastifyReply,
  rows: readonly string[],
  page: { next: Position | undefined; hasMore: boolean },
  binding: string,
): FastifyReply {
  const cursor = page.next ? JSON.stringify(encodeCursor(page.next, binding)) : 'null';
  return reply
    .type('application/json; charset=utf-8')
    .header('Cache-Control', 'no-store')
    .send(`{"data":[${rows.join(',')}],"meta":{"cursor":${cursor},"has_more":${page.hasMore}}}`);
}
