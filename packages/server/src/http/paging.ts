import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { decodeCursor, encodeCursor, type Position } from '../domain/page.js';
import type { InputFault } from '../domain/problem.js';

export const orderParameter = (what: string) =>
  Type.Optional(
    Type.Enum(['desc', 'asc'], {
      default: 'desc',
      description: `Newest first, or oldest first. With \`asc\`, whoever keeps following the cursor sees every ${what} exactly once.`,
    }),
  );

/** What is wrong with a given cursor: it was not issued for this binding. */
export function cursorFaults(cursor: unknown, binding: () => string): readonly InputFault[] {
  if (typeof cursor !== 'string' || cursor === '' || decodeCursor(cursor, binding())) return [];
  const detail = 'must be meta.cursor of an answer to the same filters and order; start again without it';
  return [{ parameter: 'cursor', code: 'invalid_cursor', detail }];
}

/** Where a cursor that `cursorFaults` has let pass goes on. */
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
