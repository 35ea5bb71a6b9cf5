import { type Relocation, readCell } from '../cells/relocation-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { countRows, readTables, sumOf, withSnapshot } from './copy-store.js';
import type { Facts, Refusal, Side } from './plan.js';

/** Reports why an organization cannot be moved. Nothing was deleted. */
export class MoveRefused extends Error {
  override name = 'MoveRefused';
}

/** An organization, and the databases of both cells. */
export interface Cells {
  organizationId: string;
  from: Database;
  to: Database;
  /** How long events can be read. One of the cells may have dropped older ones. */
  retentionMs: number;
}

/** Reads what both cells show of an organization now. They must be different ones. */
export async function readSides({ organizationId, from, to }: Cells): Promise<[Side, Side]> {
  const sides = await Promise.all([
    readSide(from, organizationId, 'of this cell (DATABASE_URL)'),
    readSide(to, organizationId, 'of the other cell (--to)'),
  ]);
  if (sides[0].id === sides[1].id || sides[0].name === sides[1].name)
    throw new MoveRefused(
      `Both databases belong to the cell ${sides[0].name}. Each cell needs its own POSTHORN_CELL.`,
    );
  return sides;
}

async function readSide(database: Database, organizationId: string, which: string): Promise<Side> {
  const cell = await readCell(database);
  if (!cell)
    throw new MoveRefused(
      `The database ${which} does not belong to a cell. Start one of its nodes with POSTHORN_CELL.`,
    );
  const { rows } = await database.query<Facts>({
    text: 'select state, cell, cell_id, move, since from posthorn.relocations where organization_id = $1',
    values: [organizationId],
  });
  const facts = rows[0];
  const count = async (client: Queryable) =>
    sumOf(await countRows(client, await readTables(client), organizationId));
  const livesHere = facts === undefined || facts.state === 'here';
  const { id, name } = cell;
  const counted = livesHere ? await withSnapshot(database, count) : 0;
  return { id, name, organizationId, facts, rows: counted };
}

/** Returns the next step, or throws why there is none. */
export function accept<S extends string>(next: S | Refusal): S {
  if (typeof next === 'string') return next;
  throw new MoveRefused(next.refused);
}

/** How an organization changes its state in one cell. What is absent stays as it is. */
export interface Change {
  to: Relocation['state'];
  /** The other cell. */
  other?: Side;
  /** The stop. */
  move?: string;
}

/**
 * Changes the state of an organization, unless its cell no longer shows the state and the stop that `side` shows. Returns
 * whether it did so.
 */
export async function changeState(
  client: Queryable,
  { organizationId, facts }: Side,
  { to, other, move }: Change,
): Promise<boolean> {
  const { rowCount } = await client.query({
    text: `
  insert into posthorn.relocations as r (organization_id, state, cell, cell_id, move, stopped_at)
  select $1, $4, $5, $6::uuid, $7::uuid, case when $4 = 'stopping' then clock_timestamp() end
   where $2::text is null or exists (select from posthorn.relocations where organization_id = $1)
  on conflict (organization_id) do update
     set state = $4, cell = $5, cell_id = $6::uuid, move = $7::uuid, since = clock_timestamp(),
         stopped_at = coalesce(excluded.stopped_at, r.stopped_at)
   where r.state = $2 and r.move = $3::uuid`,
    values: [
      ...[organizationId, facts?.state ?? null, facts?.move ?? null],
      ...[to, other?.name ?? facts?.cell, other?.id ?? facts?.cell_id, move ?? facts?.move],
    ],
  });
  return rowCount === 1;
}
