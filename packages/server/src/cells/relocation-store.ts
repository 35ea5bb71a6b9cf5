import type { Database, Queryable } from '../postgres/database.js';
import { countOtherNodes } from './node-store.js';
import type { Relocation } from './relocation.js';

/** Returns an SQL condition: whether this cell may start work for the organization of a row. */
export function mayStartWork(alias: string): string {
  return `not exists (select from posthorn.relocations l
                       where l.organization_id = ${alias}.organization_id and l.state <> 'copying')`;
}

/** A cell, as a move from another cell sees it. */
export interface Cell {
  name: string;
  /** The prefixes of all secrets that its nodes can decrypt. Empty if no node has started with this version yet. */
  keys: readonly Buffer[];
}

/**
 * Stores the name of this cell and the key prefixes of its nodes, for moves from other cells. While nodes with
 * another cell name are running, the cell keeps that name. Returns the stored name, and the one before.
 */
export async function writeCell(
  database: Database,
  { name, keys }: Cell,
): Promise<{ name: string; before: string | undefined }> {
  return database.transaction(async (client) => {
    // Nodes that start at the same time write one after the other.
    await client.query({ text: 'lock table posthorn.cell in share row exclusive mode' });
    const stored = await readCell(client);
    if (stored === undefined)
      await client.query({
        text: 'insert into posthorn.cell (name, keys) values ($1, $2)',
        values: [name, keys],
      });
    else if (stored.name === name || (await countOtherNodes(client, 0)) === 0)
      await client.query({ text: 'update posthorn.cell set name = $1, keys = $2', values: [name, keys] });
    return { name: (await readCell(client))!.name, before: stored?.name };
  });
}

export async function readCell(database: Queryable): Promise<Cell | undefined> {
  const { rows } = await database.query<Cell>({ text: 'select name, keys from posthorn.cell' });
  return rows[0];
}

/** Returns the relocation of an organization. Returns undefined if it lives here and is not moving. */
export async function readRelocation(
  client: Queryable,
  organizationId: string,
): Promise<Relocation | undefined> {
  const { rows } = await client.query<Relocation>({
    text: 'select state, cell from posthorn.relocations where organization_id = $1',
    values: [organizationId],
  });
  return rows[0];
}

/**
 * Throws an error if this cell may no longer write for the organization. `refusalOf` recognizes this error. `type` is
 * the type of the event that the write can lead to.
 */
export async function requireHere(client: Queryable, organizationId: string, type: string): Promise<void> {
  await client.query({
    text: 'select posthorn.require_here(array[$1], $2)',
    values: [organizationId, type],
  });
}

/** A move of an organization, carried out by one process. A process that takes over the move uses another `id`. */
export interface OrganizationMove {
  organizationId: string;
  id: string;
}

/** Reports that the move cannot continue: another process has taken it over or ended it. */
export class MoveTakenOver extends Error {
  override name = 'MoveTakenOver';

  constructor() {
    super('Another process has taken over this move, or has aborted it.');
  }
}

/**
 * The states from which a move can start, or start again. Starting from any other state would put the
 * organization in two cells.
 */
const beginnings: Record<'copying' | 'arriving', readonly Relocation['state'][]> = {
  copying: ['copying', 'stopping', 'stopped'],
  arriving: ['arriving', 'moved'],
};

/** Writes the state of a new move, or takes over an interrupted one between the same cells. */
export async function enterState(
  client: Queryable,
  move: OrganizationMove,
  state: 'copying' | 'arriving',
  cell: string,
): Promise<void> {
  const { rowCount } = await client.query({
    text: `
  insert into posthorn.relocations as r (organization_id, state, cell, move, progress)
  values ($1, $2, $3, $4, '{"isNew": true}')
  on conflict (organization_id) do update
     set state = excluded.state, cell = excluded.cell, move = excluded.move, stopped_at = null,
         progress = case when r.state = 'arriving' then r.progress else '{}' end
   where r.state = any ($5) and (r.state = 'moved' or r.cell = excluded.cell)`,
    values: [move.organizationId, state, cell, move.id, beginnings[state]],
  });
  if (rowCount !== 1) throw new MoveTakenOver();
}

/** Takes over a move that is in this state, to or from the cell `cell`. Returns false if there is none. */
export async function takeOver(
  client: Queryable,
  move: OrganizationMove,
  state: Relocation['state'],
  cell: string,
): Promise<boolean> {
  const { rowCount } = await client.query({
    text: `
  update posthorn.relocations set move = $2 where organization_id = $1 and state = $3 and cell = $4`,
    values: [move.organizationId, move.id, state, cell],
  });
  return rowCount === 1;
}

/** Changes the state of a move from `from` to `to`. */
export async function changeState(
  client: Queryable,
  move: OrganizationMove,
  from: Relocation['state'],
  to: Relocation['state'],
): Promise<void> {
  const { rowCount } = await client.query({
    text: `
  update posthorn.relocations
     set state = $4, stopped_at = case when $4 = 'stopping' then clock_timestamp() else stopped_at end
   where organization_id = $1 and move = $2 and state = $3`,
    values: [move.organizationId, move.id, from, to],
  });
  if (rowCount !== 1) throw new MoveTakenOver();
}

/** Lets the organization work here again, unless another process has taken over. Returns whether it did so. */
export async function resumeOrganization(client: Queryable, move: OrganizationMove): Promise<boolean> {
  const { rowCount } = await client.query({
    text: `
  update posthorn.relocations set state = 'copying', stopped_at = null
   where organization_id = $1 and move = $2 and state in ('stopping', 'stopped')`,
    values: [move.organizationId, move.id],
  });
  return rowCount === 1;
}

/** Locks the state of a move until the transaction ends, so that no other process can take it over in the meantime. */
export async function requireState(
  client: Queryable,
  move: OrganizationMove,
  state: Relocation['state'],
): Promise<void> {
  const { rowCount } = await client.query({
    text: `
  select from posthorn.relocations where organization_id = $1 and move = $2 and state = $3 for share`,
    values: [move.organizationId, move.id, state],
  });
  if (rowCount !== 1) throw new MoveTakenOver();
}

/** Returns the relocation of an organization, which cannot change until the transaction ends. */
export async function lockRelocation(
  client: Queryable,
  organizationId: string,
): Promise<Relocation | undefined> {
  const { rows } = await client.query<Relocation>({
    text: 'select state, cell from posthorn.relocations where organization_id = $1 for update',
    values: [organizationId],
  });
  return rows[0];
}

/**
 * Ends a move to or from the cell `cell`, so that the organization stays here. Leaves a move to or from any other cell
 * alone. Returns whether this cell may now start work for the organization.
 */
export async function keepOrganization(
  client: Queryable,
  organizationId: string,
  cell: string,
): Promise<boolean> {
  await client.query({
    text: 'delete from posthorn.relocations where organization_id = $1 and cell = $2',
    values: [organizationId, cell],
  });
  return servesOrganization(client, organizationId);
}

/**
 * What a cell holds for an organization that has left another cell to move there.
 * copied:     the complete copy, which it has not taken over yet
 * taken over: the organization itself, which the cell may have passed on since
 * missing:    neither. The cell has no way to take over the organization.
 * unknown:    an organization with this ID that is not the one that has left
 */
export type Arrival = 'copied' | 'taken over' | 'missing' | 'unknown';

/**
 * Returns what the cell `to` holds for an organization that has left the cell `from`, whose name is `cell`. Taking over
 * adds an entry to the audit log, and nothing is added to the log in the cell that the organization has left. So if
 * `to` has taken over, the chain is longer there. One statement reads everything in `to`, so it cannot change in
 * between.
 */
export async function readArrival(
  from: Queryable,
  to: Queryable,
  organizationId: string,
  cell: string,
): Promise<Arrival> {
  const length = 'coalesce((select length from posthorn.audit_chains where organization_id = $1), 0)';
  const left = await from.query<{ length: number }>({
    text: `select ${length} as length`,
    values: [organizationId],
  });
  const { rows } = await to.query<{ arrival: Arrival }>({
    text: `
  select case when exists (select from posthorn.relocations
                            where organization_id = $1 and state = 'arriving' and cell = $3)
                -- This row is staged together with all others, after everything else has been copied.
                then case when exists (select from posthorn.arrivals
                                        where organization_id = $1 and relation = 'counted_until')
                          then 'copied' else 'missing' end
              when ${length} > $2::bigint then 'taken over'
              when exists (select from posthorn.relocations
                            where organization_id = $1 and state in ('arriving', 'moved')) then 'missing'
              when ${anyRow} then 'unknown'
              else 'missing' end as arrival`,
    values: [organizationId, left.rows[0]!.length, cell],
  });
  return rows[0]!.arrival;
}

/** Returns whether this cell may start work for the organization. */
export async function servesOrganization(client: Queryable, organizationId: string): Promise<boolean> {
  const { rows } = await client.query<{ here: boolean }>({
    text: `select ${mayStartWork('o')} as here from (values ($1::text)) as o (organization_id)`,
    values: [organizationId],
  });
  return rows[0]!.here;
}

/** An SQL condition: whether the database has any rows of the organization `$1`. */
const anyRow = ['audit_chains', 'tokens', 'webhooks', 'resources', 'events']
  .map((table) => `exists (select from posthorn.${table} where organization_id = $1)`)
  .join(' or ');

/** Returns whether the database has any rows of an organization. */
export async function hasOrganization(client: Queryable, organizationId: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>({
    text: `select ${anyRow} as found`,
    values: [organizationId],
  });
  return rows[0]?.found === true;
}

export async function readProgress<T>(client: Queryable, move: OrganizationMove): Promise<Partial<T>> {
  const { rows } = await client.query<{ progress: T }>({
    text: 'select progress from posthorn.relocations where organization_id = $1 and move = $2',
    values: [move.organizationId, move.id],
  });
  return rows[0]?.progress ?? {};
}

export async function writeProgress(
  client: Queryable,
  move: OrganizationMove,
  progress: object,
): Promise<void> {
  const { rowCount } = await client.query({
    text: 'update posthorn.relocations set progress = $3 where organization_id = $1 and move = $2',
    values: [move.organizationId, move.id, JSON.stringify(progress)],
  });
  if (rowCount !== 1) throw new MoveTakenOver();
}
