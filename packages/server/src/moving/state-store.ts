import type { Relocation } from '../cells/relocation.js';
import { readCell } from '../cells/relocation-store.js';
import type { Database, Queryable } from '../postgres/database.js';
import { countRows, readTables, sumOf } from './copy-store.js';
import type { Facts, Refusal, Side } from './plan.js';

/** Reports why an organization cannot be moved. Nothing was deleted. */
export class MoveRefused extends Error {
  override name = 'MoveRefused';
}

/** Reads what a cell shows of an organization now. `which` describes the database, for the error if it has no cell. */
export async function readSide(database: Database, organizationId: string, which: string): Promise<Side> {
  const cell = await readCell(database);
  if (!cell)
    throw new MoveRefused(
      `The database ${which} does not belong to a cell. Start one of its nodes with POSTHORN_CELL.`,
    );
  const found = (await readTables(database)).map(
    ({ name }) => `exists (select from posthorn.${name} where organization_id = $1)`,
  );
  const { rows } = await database.query<Facts & { found: boolean }>({
    text: `
  select r.*, ${found.join(' or ')} as found
    from (values (1)) v
    left join posthorn.relocations r on r.organization_id = $1`,
    values: [organizationId],
  });
  const { found: hasRows, ...facts } = rows[0]!;
  return {
    id: cell.id,
    name: cell.name,
    organizationId,
    facts: facts.state === null ? undefined : facts,
    hasRows,
  };
}

type State = Relocation['state'];

/** How an organization changes its state in one cell. */
export interface Change {
  to: State;
  /** The other cell. Absent: stays as it is. */
  other?: Side;
  /** The stop. Absent: stays as it is. */
  move?: string;
}

/**
 * Changes the state of an organization, unless the cell no longer shows the state and the stop that `side` shows. Returns
 * whether it did so.
 */
export async function changeState(
  client: Queryable,
  organizationId: string,
  { facts }: Side,
  { to, other, move }: Change,
): Promise<boolean> {
  const { rowCount } = await client.query({
    text: `
  insert into posthorn.relocations as r (organization_id, state, cell, cell_id, move, stopped_at)
  select $1, $4, $5, $6::uuid, $7::uuid, case when $4 = 'stopping' then clock_timestamp() end
   where $2::text is null or exists (select from posthorn.relocations where organization_id = $1)
  on conflict (organization_id) do update
     set state = excluded.state, cell = coalesce($5, r.cell), cell_id = coalesce($6::uuid, r.cell_id),
         move = coalesce($7::uuid, r.move), since = clock_timestamp(),
         stopped_at = case when $4 = 'stopping' then excluded.stopped_at else r.stopped_at end,
         arrived_from = case when r.state = 'arriving' and $4 = 'here' then r.cell_id else r.arrived_from end,
         arrived_by = case when r.state = 'arriving' and $4 = 'here' then r.move else r.arrived_by end
   where r.state = $2 and r.move = $3::uuid`,
    values: [
      ...[organizationId, facts?.state ?? null, facts?.move ?? null],
      ...[to, other?.name ?? facts?.cell, other?.id ?? facts?.cell_id, move ?? facts?.move],
    ],
  });
  return rowCount === 1;
}

/** Deletes the state of an organization, as if it had never moved, unless it has changed. */
export async function deleteState(client: Queryable, organizationId: string, { facts }: Side): Promise<void> {
  await client.query({
    text: 'delete from posthorn.relocations where organization_id = $1 and state = $2 and move = $3',
    values: [organizationId, facts?.state, facts?.move],
  });
}

/** Returns how long ago the state of an organization changed, by the clock of its database. */
export async function readAgeMs(database: Queryable, organizationId: string): Promise<number> {
  const { rows } = await database.query<{ age_ms: number }>({
    text: `
  select (extract(epoch from clock_timestamp() - since) * 1000)::float8 as age_ms
    from posthorn.relocations
   where organization_id = $1`,
    values: [organizationId],
  });
  return rows[0]!.age_ms;
}

/** Returns the time after which new events of the organization must be: the stop, and the last event before it. */
export async function readEndMs(database: Queryable, organizationId: string): Promise<number> {
  const { rows } = await database.query<{ at: Date | null }>({
    text: `
  select greatest((select stopped_at from posthorn.relocations where organization_id = $1),
                  (select max(created_at) from posthorn.events where organization_id = $1)) as at`,
    values: [organizationId],
  });
  return rows[0]!.at?.getTime() ?? 0;
}

/** Reads what both cells show. They must be different ones. */
export async function sidesOf({
  organizationId,
  from,
  to,
}: {
  organizationId: string;
  from: Database;
  to: Database;
}): Promise<[Side, Side]> {
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

/** Returns the next step, or throws why there is none. */
export async function accept<S extends string>(
  next: S | Refusal,
  to: Database,
  organizationId: string,
): Promise<S> {
  if (typeof next === 'string') return next;
  throw await refusalOf(next, to, organizationId);
}

export async function refusalOf(
  { refused, isForeign }: Refusal,
  to: Database,
  organizationId: string,
): Promise<MoveRefused> {
  if (!isForeign) return new MoveRefused(refused);
  const rows = sumOf(await countRows(to, await readTables(to), organizationId));
  return new MoveRefused(
    `${refused}: ${grouped(rows)} rows. Nothing was deleted. See "Restored cells" in docs/operate.md.`,
  );
}

export const seconds = (ms: number) => (ms / 1_000).toFixed(1);
export const grouped = (count: number) => count.toLocaleString('en');
