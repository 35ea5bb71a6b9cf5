import { readClockMs } from '../postgres/transaction.js';
import { countMissing, deleteCopy } from './copy-store.js';
import { nextOfForget, type Side } from './plan.js';
import { accept, type Cells, changeState, MoveRefused, readSides } from './state-store.js';

/** Deletes the old copy of an organization that left at least `ageMsMin` ago, if the new cell has all of it. */
export async function forgetOrganization(cells: Cells, ageMsMin: number): Promise<void> {
  const { organizationId, from: database } = cells;
  const [from, to] = await readSides(cells);
  if (accept(nextOfForget(from, to)) === 'done') return;
  const leftMs = from.facts!.since.getTime() + ageMsMin - (await readClockMs(database));
  if (leftMs > 0)
    throw new MoveRefused(
      `${organizationId} left this cell less than 3 days ago. Try again in ${Math.ceil(leftMs / 3_600_000)} hours, or add --now to delete the old copy now.`,
    );
  await requireAll(cells, from, to);
  await database.transaction(async (client) => {
    if (await changeState(client, from, { to: 'forgotten' })) await deleteCopy(client, organizationId);
  }, true);
}

/** Throws unless the cell `to` has every event and audit log entry that the cell `from` has. */
export async function requireAll(cells: Cells, from: Side, to: Side): Promise<void> {
  const { organizationId, retentionMs } = cells;
  const missing = await countMissing(cells.from, cells.to, organizationId, retentionMs);
  if (missing > 0)
    throw new MoveRefused(
      `The cell ${to.name} lacks ${missing} events and audit log entries of ${organizationId} that the cell ${from.name} has. Nothing was deleted. See "Restored cells" in docs/operate.md.`,
    );
}
