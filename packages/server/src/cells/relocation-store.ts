import type { Database, Queryable } from '../postgres/database.js';
import { Problem, unavailable } from '../values/problem.js';
import { countOtherNodes } from './node-store.js';

/** Returns an SQL condition: whether this cell may start work for the organization of a row. */
export function mayStartWork(alias: string): string {
  return `not exists (select from posthorn.relocations l
                       where l.organization_id = ${alias}.organization_id and l.state <> 'here')`;
}

/** Returns an SQL condition: whether a row is not part of a copy of an organization that lives in another cell. */
export function isNoCopy(alias: string): string {
  return `not exists (select from posthorn.relocations l
                       where l.organization_id = ${alias}.organization_id and l.state in ('moved', 'arriving'))`;
}

/** A cell, as a move from another cell sees it. */
export interface Cell {
  /** Made when the database gets its first name. A restored database and a promoted standby keep it. */
  id: string;
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
  { name, keys }: Omit<Cell, 'id'>,
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
  const { rows } = await database.query<Cell>({ text: 'select id, name, keys from posthorn.cell' });
  return rows[0];
}

/** Returns the relocation of an organization. Returns undefined if it lives here and has never moved. */
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

/** Throws a problem if a read is about an organization that lives in another cell. Writes are refused in SQL. */
export async function refuseElsewhere(database: Queryable, organizationId: string): Promise<void> {
  const relocation = await readRelocation(database, organizationId);
  const problem = relocation && relocationProblem(relocation, false);
  if (problem) throw problem;
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

/** A relocation that is not over, or that has left a copy here. */
export type OpenRelocation = Relocation & { organization_id: string; since: Date };

/** Lists the organizations that are stopped, are arriving, or have left a copy here, the longest first. */
export async function listOpenRelocations(database: Queryable): Promise<readonly OpenRelocation[]> {
  const { rows } = await database.query<OpenRelocation>({
    text: `
  select organization_id, state, cell, since
    from posthorn.relocations
   where state not in ('here', 'forgotten')
   order by since, organization_id`,
  });
  return rows;
}

/**
 * The states of an organization that is moving to another cell, has moved to one, or has come from one. The schema and
 * docs/scale.md describe these states.
 */
export const relocationStates = ['here', 'stopping', 'stopped', 'moved', 'forgotten', 'arriving'] as const;

export interface Relocation {
  state: (typeof relocationStates)[number];
  /** The name of the other cell. */
  cell: string;
}

/** Returns the problem for a request about an organization in this state, or undefined if this cell can handle it. */
export function relocationProblem({ state, cell }: Relocation, isWrite: boolean): Problem | undefined {
  if (state === 'moved' || state === 'forgotten') return organizationElsewhere(cell);
  if (state === 'arriving') return organizationMoving();
  return isWrite && state !== 'here' ? organizationMoving() : undefined;
}

export function organizationElsewhere(cell: string): Problem {
  return new Problem('wrong_cell', `The organization is in cell ${cell}. Nothing was changed.`, {
    cell,
    // For proxies, which do not read bodies.
    headers: { 'Posthorn-Cell': cell },
  });
}

export function organizationMoving(): Problem {
  return unavailable(
    'The organization is being moved to another cell. This takes seconds to minutes. Nothing was changed. Try again.',
  );
}
