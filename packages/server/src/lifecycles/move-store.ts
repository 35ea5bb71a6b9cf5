import type { Queryable } from '../postgres/database.js';
import { transitionsOf } from './lifecycle.js';
import { lifecycles } from './lifecycles.js';

/**
 * Adds the moves that the database does not have yet. It removes none: during a rolling upgrade, nodes of another
 * version still need theirs. To remove or change a move, write a migration.
 */
export async function addLifecycleMoves(client: Queryable): Promise<void> {
  const moves = Object.values(lifecycles).flatMap((lifecycle) =>
    transitionsOf(lifecycle).map(({ move, from, to }) => ({
      kind: lifecycle.kind,
      move,
      from_status: from,
      to_status: to,
    })),
  );
  await client.query({
    text: `
  insert into posthorn.lifecycle_moves (kind, move, from_status, to_status)
  select m.kind, m.move, m.from_status, m.to_status
    from json_to_recordset($1) as m (kind text, move text, from_status text, to_status text)
  on conflict do nothing`,
    values: [JSON.stringify(moves)],
  });
}
