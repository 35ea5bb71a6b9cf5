import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { encodeCursor, type Position } from '../values/cursor.js';

export { cursorFaults, positionOf } from './paging.js';

export const orderParameter = (what: string) =>
  Type.Optional(
    Type.Enum(['desc', 'asc'], {
      default: 'desc',
      description:
        `\`desc\`: newest first. \`asc\`: oldest first; if you keep following the cursor, you get every ` +
        `${what} exactly once.`,
    }),
  );

/** Sends a page whose rows are already JSON texts. */
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
