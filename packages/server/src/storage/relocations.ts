import type { Relocation } from '../domain/relocation.js';
import type { Database, Queryable } from './database.js';

/** Returns the condition that a row belongs to an organization for which this cell acts. */
export function actsHere(alias: string): string {
  return `not exists (select from posthorn.relocations l
                       where l.organization_id = ${alias}.organization_id and l.state <> 'copying')`;
}

/** Stores the name of this cell, so that a move from another cell knows where it leads. */
export async function nameCell(database: Database, name: string): Promise<void> {
  await database.transaction(async (client) => {
    const { rowCount } = await client.query({ text: 'update posthorn.cell set name = $1', values: [name] });
    if (rowCount === 0)
      await client.query({ text: 'insert into posthorn.cell (name) values ($1)', values: [name] });
  });
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
